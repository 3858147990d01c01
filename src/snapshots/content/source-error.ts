/** What is said when a file of the project cannot be read, which snapshots need all of. Pure. */
import { refusals, systemCode } from '../../base/errors/errors.js';

/** Of the server rather than of the file. */
const NOT_OF_FILE = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM'];

/** Refuses (409) with the path when the system does not let it be read. */
export function readable<Result>(path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const code = codeOf(error);
    if (code === '' || NOT_OF_FILE.includes(code)) throw error;
    throw refusals.contentUnreadable(path, code);
  }
}

/** The code of an error of the system; otherwise empty. */
export function codeOf(error: unknown): string {
  return systemCode(error) ?? '';
}
