/** The part of a file that a request asks for (RFC 9110, section 14): one range of bytes. */

export interface ByteRange {
  readonly start: number;
  /** Of the byte after the last. */
  readonly end: number;
}

/** More than two positions of 20 digits and some spaces need. */
const LONGEST_RANGE = 100;
const POSITIONS = /^(\d*)\s*-\s*(\d*)$/;

/**
 * What a `Range` header means for a file of `size` bytes; undefined when the whole file is to be sent, as for
 * several ranges, other units, and what is no range at all.
 */
export function parseRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (header.length > LONGEST_RANGE) return undefined;
  const [unit = '', positions = '', ...more] = header.split('=');
  if (unit.trim().toLowerCase() !== 'bytes' || more.length > 0) return undefined;
  const [, first = '', last = ''] = POSITIONS.exec(positions.trim()) ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return undefined;
  return start < size ? { start, end } : 'unsatisfiable';
}

/** Whether a list of entity tags, as of `If-None-Match`, has this one. Weak ones count. */
export function listsTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((listed) => listed.trim().replace(/^W\//, '') === tag);
}
