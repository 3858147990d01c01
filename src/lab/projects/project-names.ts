/** The names of projects: folders and files are called like them, and no two projects are called alike. Pure. */
import { refusals } from '../../base/errors/errors.js';

/** Characters that a folder or file name made of a project name must not have. */
// eslint-disable-next-line no-control-regex -- control characters are what is refused
const UNFIT = /[/\\\0-\x1f]|^\.\.?$/;
// eslint-disable-next-line no-control-regex -- control characters are what is replaced
const UNFIT_CHARACTER = /[/\\\0-\x1f]/g;
const LONGEST = 200;
/** A file name has at most 255 bytes, and what is appended to it needs some. */
const LONGEST_FILE_NAME = 200;

/** Whether a file can be called so, but for the length. */
export function isFit(name: string): boolean {
  return !UNFIT.test(name);
}

/** Refuses (400) what cannot be the name of a file. */
export function checkFit(name: string): void {
  if (!isFit(name)) throw refusals.projectNameRefused();
}

/** The wanted name as far as it can be one; with a number when it is taken. */
export function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  const replaced = wanted.replace(UNFIT_CHARACTER, '_').trim();
  const base = replaced === '' || UNFIT.test(replaced) ? `_${replaced}` : replaced;
  const named = (end: string): string =>
    Array.from(base)
      .slice(0, LONGEST - end.length)
      .join('') + end;
  for (let name = named(''), number = 1; ; number++) {
    if (!isTaken(name)) return name;
    name = named(`-${number}`);
  }
}

/** What the topology file of a new project is called, without its extension. */
export function fileNameOf(name: string): string {
  const characters = Array.from(name);
  while (Buffer.byteLength(characters.join('')) > LONGEST_FILE_NAME) characters.pop();
  return characters.join('');
}
