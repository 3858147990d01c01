/** The names of projects: folders and files have these names, and no two projects have the same. Pure. */
import { refusals } from '../../base/errors/errors.js';

/** Characters that a folder or file name made of a project name must not have. */
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const UNFIT = /[/\\\0-\x1f]|^\.\.?$/;
// oxlint-disable-next-line no-control-regex -- control characters are what is replaced
const UNFIT_CHARACTER = /[/\\\0-\x1f]/g;
const LONGEST = 200;
/** In bytes. A file name has at most 255, and endings are appended to it. */
const LONGEST_FILE_NAME = 200;

/** Whether a file can have this name; the length is not checked. */
export function isFileName(name: string): boolean {
  return !UNFIT.test(name);
}

/** Refuses (400) a name that no file can have. */
export function checkFileName(name: string): void {
  if (!isFileName(name)) throw refusals.projectNameRefused();
}

/** The wanted name, with unfit characters replaced, and with a number when it is taken. */
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

/** The name of a new project's topology file, without its extension. */
export function fileNameOf(name: string): string {
  const characters = Array.from(name);
  while (Buffer.byteLength(characters.join('')) > LONGEST_FILE_NAME) characters.pop();
  return characters.join('');
}
