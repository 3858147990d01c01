/** What a client is told when the system refuses something. */
import { getSystemErrorMap } from 'node:util';
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

/** What is said of an error: of one of the system without the paths of this host, which only its stack has. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('errno' in error) || typeof error.errno !== 'number') return error.message;
  const [code, text] = getSystemErrorMap().get(error.errno) ?? [];
  return code === undefined || text === undefined ? error.message : `${code}: ${text}`;
}
