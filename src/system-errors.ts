/** What a client is told when the system refuses something. */
import { refusals, type Refusal } from './errors.js';

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);

/** The refusal that a failed system call amounts to, or undefined when it is nothing a client can mend. */
export function refusalOfSystemError(code: string | undefined, path: string): Refusal | undefined {
  if (code === undefined) return undefined;
  if (NO_SPACE.has(code)) return refusals.diskFull();
  switch (code) {
    case 'ENOENT':
      return refusals.fileMissing();
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ELOOP':
    case 'ENXIO':
      return refusals.fileForbidden();
    case 'EISDIR':
      return refusals.isDirectory(path);
    case 'ENOTDIR':
      return refusals.notDirectory(path);
    case 'ENAMETOOLONG':
      return refusals.fileNameTooLong();
    default:
      return undefined;
  }
}
