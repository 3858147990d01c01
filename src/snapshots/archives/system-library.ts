/** The libraries of this host that compress in ways Node.js does not. */
import koffi from 'koffi';
import { refusals } from '../../base/errors/errors.js';

export type SystemLibrary = ReturnType<typeof koffi.load>;

/** The first of these names that is there; refuses (409) when none is. `method` is what needs it, as a client calls it. */
export function systemLibrary(
  method: string,
  names: readonly string[],
  debianPackage: string,
): SystemLibrary {
  for (const name of names) {
    try {
      return koffi.load(name);
    } catch {
      // Not there, or something else of that name.
    }
  }
  throw refusals.libraryMissing(method, (names[0] ?? '').replace(/\.so.*$/, ''), debianPackage);
}
