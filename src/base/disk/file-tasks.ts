/**
 * Reads files that clients name, for the HTTP thread. Only a descriptor stays open, so a slow client holds no thread.
 */
import { closeSync, readFileSync, readSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { TaskTable } from '../threads/task.js';
import { clientPath, type NamedFile } from './containment.js';
import { readOnlyWhatIsAskedFor } from './linux-files.js';
import { openRegularFile, type OpenedFile } from './regular-file.js';

export interface FileTasks extends TaskTable {
  readonly openFile: (input: NamedFile) => OpenedFile;
  readonly readPiece: (input: { fd: number; position: number; length: number }) => Uint8Array<ArrayBuffer>;
  readonly closeFile: (input: { fd: number }) => void;
  /** The content in gzip, unless the file is of the known version or longer than the limit. */
  readonly gzipFile: (input: NamedFile & { known: string | undefined; limit: number }) => {
    readonly version: string;
    readonly bytes?: Uint8Array;
  };
}

export const fileTasks: FileTasks = {
  openFile: (input) => openRegularFile(clientPath(input, 'read')),

  readPiece({ fd, position, length }) {
    readOnlyWhatIsAskedFor(fd);
    const bytes = new Uint8Array(length);
    const read = readSync(fd, bytes, 0, length, position);
    return read === length ? bytes : bytes.slice(0, read);
  },

  closeFile({ fd }) {
    closeSync(fd);
  },

  gzipFile({ known, limit, ...named }) {
    const { fd, size, version } = openRegularFile(clientPath(named, 'read'));
    try {
      return version === known || size > limit ? { version } : { version, bytes: gzipSync(readFileSync(fd)) };
    } finally {
      closeSync(fd);
    }
  },
};
