/** The text that a program printed, for people: the last 4 KiB, without the codes for terminals. */
import { stripVTControlCharacters } from 'node:util';

const MOST_BYTES = 4096;
const DELETE = '\x7f';

export function lastLines(printed: Uint8Array): string {
  const text = stripVTControlCharacters(Buffer.from(printed.subarray(-MOST_BYTES)).toString('utf8'));
  const isShown = (character: string): boolean =>
    character === '\n' || character === '\t' || (character >= ' ' && character !== DELETE);
  return Array.from(text).filter(isShown).join('').trim();
}
