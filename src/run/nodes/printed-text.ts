/** Texts that programs printed, for people. */
import { stripVTControlCharacters } from 'node:util';
import type { ProgramEnd } from '../keeper/program.js';

const MOST_BYTES = 4096;
const DELETE = '\x7f';

/** The end of a program, and its last lines. */
export function lastWords({ code, signal, isOutOfMemory }: ProgramEnd, lines: string): string {
  const how = signal === null ? `status ${code ?? 'unknown'}` : `signal ${signal}`;
  const why = isOutOfMemory === true ? `the host had no memory left for it (${how})` : how;
  return lines === '' ? `${why}, without a word` : `${why}\n${lines}`;
}

/** The last 4 KiB, without the codes for terminals. */
export function lastLines(printed: Uint8Array): string {
  const text = stripVTControlCharacters(Buffer.from(printed.subarray(-MOST_BYTES)).toString('utf8'));
  const isShown = (character: string): boolean =>
    character === '\n' || character === '\t' || (character >= ' ' && character !== DELETE);
  return Array.from(text).filter(isShown).join('').trim();
}
