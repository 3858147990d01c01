/** Reads a foreign tar archive as a whole before anything of it is unpacked. Runs in a worker thread. */
import { closeSync, fchmodSync, mkdirSync, openSync, constants, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { extract, type Extract } from 'tar-stream';
import { Refusal, refusals } from '../errors/errors.js';
import { writeWhole } from './published-file.js';
import { syncTree } from './tree-sync.js';
import { TarContent, type MemberHeader, type MemberFile } from './tar-content.js';

const PIECE = 256 * 1024;
const END_LENGTH = 1024;
/** Archives of the oldest tar, which have no format name, are read, too. */
const OPTIONS = { highWaterMark: PIECE, allowUnknownFormat: true };
const FILE_MODE = 0o644;
const EXECUTABLE_MODE = 0o755;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/**
 * The library gets nothing but the bytes that are read here. If it has done nothing after so many turns of the event
 * loop, it never will: it waits for the content of a member whose length it could not read.
 */
const MOST_TURNS = 100;
/** The first bytes of gzip, bzip2, xz and zstd. */
const COMPRESSED = ['1f8b', '425a68', 'fd377a58', '28b52ffd'];

/** Refuses (400) an archive that is not whole, and (409) one that must not be unpacked. */
export async function readTar(fd: number, size: number): Promise<TarContent> {
  const start = readAt(fd, 0, 4).toString('hex');
  if (COMPRESSED.some((magic) => start.startsWith(magic))) throw refusals.archiveCompressed();
  const content = new TarContent();
  const failure = await feed(extraction(content), fd, size);
  if (failure instanceof Refusal) throw failure;
  if (failure !== undefined) throw refusals.archiveDamaged(failure.message);
  // Without this check an archive that is cut off between two members would look whole.
  const hasEnd = size - END_LENGTH >= content.end && readAt(fd, size - END_LENGTH, END_LENGTH).every(isZero);
  if (!hasEnd) throw refusals.archiveDamaged('the two blocks of zeros at its end are missing');
  return content;
}

/** Unpacks the archive into a new folder, and syncs it. */
export function unpackTar(fd: number, content: TarContent, folder: string): void {
  mkdirSync(folder);
  for (const path of content.folders) mkdirSync(join(folder, path));
  for (const [path, file] of content.files) unpackFile(fd, file, join(folder, path));
  syncTree(folder, [...content.folders], [...content.files.keys()]);
}

function unpackFile(fd: number, { position, size, isExecutable }: MemberFile, target: string): void {
  const made = openSync(target, CREATE, FILE_MODE);
  try {
    for (let done = 0; done < size; done += PIECE)
      writeWhole(made, readAt(fd, position + done, Math.min(PIECE, size - done)), done);
    fchmodSync(made, isExecutable ? EXECUTABLE_MODE : FILE_MODE);
  } finally {
    closeSync(made);
  }
}

function extraction(content: TarContent): Extract {
  const reading = extract(OPTIONS);
  reading.on('entry', (header, stream, next) => {
    // The archive as a whole reports the same error.
    stream.on('error', () => undefined);
    try {
      content.add(header as MemberHeader);
    } catch (error) {
      reading.destroy(error instanceof Error ? error : undefined);
      return;
    }
    // When a folder has a length, the library would wait for its content, and none follows.
    if (header.type === 'directory') header.size = 0;
    stream.on('end', next);
    stream.resume();
  });
  return reading;
}

/** Feeds the whole archive to the library; returns the error in the archive, if there is one. */
async function feed(reading: Extract, fd: number, size: number): Promise<Error | undefined> {
  let failure: Error | undefined;
  reading.on('error', (error: Error) => {
    failure ??= error;
  });
  const closed = new Promise<void>((resolve) => {
    reading.on('close', resolve);
  });
  for (let position = 0; position < size && failure === undefined; position += PIECE) {
    const drained = new Promise<void>((resolve) => {
      reading.once('drain', resolve);
    });
    if (reading.write(readAt(fd, position, Math.min(PIECE, size - position)))) continue;
    if (!(await comes(Promise.race([drained, closed])))) break;
  }
  reading.end(undefined);
  if (!(await comes(closed))) {
    failure ??= new Error('the length of a member cannot be read');
    reading.destroy();
  }
  return failure;
}

async function comes(awaited: Promise<void>): Promise<boolean> {
  const isThere = awaited.then(() => true);
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    if (await Promise.race([isThere, setImmediate(false)])) return true;
  }
  return false;
}

/** Reads the bytes, or as many as the file has. */
function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, position));
}

function isZero(byte: number): boolean {
  return byte === 0;
}
