/** Reading a tar archive that somebody else made, all of it, before anything is done with it. Runs in a worker thread. */
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
/** Archives of the oldest tar, which do not say what they are, are read, too. */
const OPTIONS = { highWaterMark: PIECE, allowUnknownFormat: true };
const FILE_MODE = 0o644;
const EXECUTABLE_MODE = 0o755;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/**
 * Only what is read feeds the library, so what has not come after these turns of the event loop never comes: it waits for
 * the content of a member whose length it could not read.
 */
const MOST_TURNS = 100;
/** What gzip, bzip2, xz and zstd begin with. */
const COMPRESSED = ['1f8b', '425a68', 'fd377a58', '28b52ffd'];

/** Refuses (400) what is no whole archive, and (409) what must not be unpacked. */
export async function readTar(fd: number, size: number): Promise<TarContent> {
  const start = readAt(fd, 0, 4).toString('hex');
  if (COMPRESSED.some((magic) => start.startsWith(magic))) throw refusals.archiveCompressed();
  const content = new TarContent();
  const failure = await feed(extraction(content), fd, size);
  if (failure instanceof Refusal) throw failure;
  if (failure !== undefined) throw refusals.archiveDamaged(failure.message);
  // Without them one that is cut between two members would look whole.
  const hasEnd = size - END_LENGTH >= content.end && readAt(fd, size - END_LENGTH, END_LENGTH).every(isZero);
  if (!hasEnd) throw refusals.archiveDamaged('the two blocks of zeros at its end are missing');
  return content;
}

/** Makes all of it in a folder that is not there yet; it is on the disk afterwards. */
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
    // The archive as a whole tells it, too.
    stream.on('error', () => undefined);
    try {
      content.add(header as MemberHeader);
    } catch (error) {
      reading.destroy(error instanceof Error ? error : undefined);
      return;
    }
    // The library would wait for the content of a folder that tells a length, and none follows.
    if (header.type === 'directory') header.size = 0;
    stream.on('end', next);
    stream.resume();
  });
  return reading;
}

/** Ends after the last read; returns what was wrong with the archive, if anything was. */
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

/** As much as there is. */
function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, position));
}

function isZero(octet: number): boolean {
  return octet === 0;
}
