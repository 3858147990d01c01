/**
 * Archives as browsers send them: as a part of a multipart/form-data body, which is stored as it came. Runs in worker
 * threads.
 */
import { readAt } from './read-window.js';
import { findZipEnd, type ByteRange } from './zip-end.js';

/** The headers of a part, and all that comes before the file. */
const LONGEST_HEAD = 16 * 1024;
const LONGEST_FIELDS = 64 * 1024;
/** What may come behind the file. */
const LONGEST_REST = 64 * 1024;
/** More parts than any form has are not looked at. */
const MOST_PARTS = 100;
/** RFC 2046: at most 70 characters, none of which ends a line. */
const FIRST_LINE = /^--([\x20-\x7e]{1,70})\r\n/;
const FILE_NAME = /^content-disposition:[^\r\n]*;\s*filename\*?=/im;
const HEAD_END = '\r\n\r\n';
const ZIP = 'PK';

/** Where the archive lies in what a client sent: the whole file, or the first file of a multipart body. */
export function archiveRange(fd: number, size: number): ByteRange {
  const whole = { start: 0, end: size };
  const head = readAt(fd, 0, Math.min(size, LONGEST_FIELDS)).toString('latin1');
  const boundary = FIRST_LINE.exec(head)?.[1]?.trimEnd();
  if (boundary === undefined) return whole;
  const delimiter = `\r\n--${boundary}`;
  const start = fileStart(head, delimiter);
  return start === undefined ? whole : { start, end: fileEnd(fd, start, size, delimiter) };
}

function fileStart(head: string, delimiter: string): number | undefined {
  let part = 0;
  for (let parts = 0; parts < MOST_PARTS; parts += 1) {
    // The line break of the delimiter's own line may be the first half of the one that ends no headers at all.
    const headEnd = head.indexOf(HEAD_END, part);
    if (headEnd < 0 || headEnd - part > LONGEST_HEAD) return undefined;
    const start = headEnd + HEAD_END.length;
    if (FILE_NAME.test(head.slice(part, headEnd)) || head.startsWith(ZIP, start)) return start;
    const next = head.indexOf(delimiter, start);
    if (next < 0) return undefined;
    part = next + delimiter.length;
  }
  return undefined;
}

/** The first delimiter that an archive ends at; what lies in the archive may look like one, too. */
function fileEnd(fd: number, start: number, size: number, delimiter: string): number {
  const restStart = Math.max(start, size - LONGEST_REST);
  const rest = readAt(fd, restStart, size - restStart).toString('latin1');
  const ends: number[] = [];
  for (let found = rest.indexOf(delimiter); found >= 0; found = rest.indexOf(delimiter, found + 1)) {
    ends.push(restStart + found);
  }
  const right = ends.slice(-MOST_PARTS).find((end) => findZipEnd(fd, { start, end }) !== undefined);
  return right ?? ends[0] ?? size;
}
