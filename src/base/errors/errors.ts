/**
 * The one error table. It holds everything that a client may be told, with its status and its code; the HTTP edge turns
 * that into the error body. Any other error that is thrown is a fault of this server: it is logged, and answered with
 * 500 and no details.
 */
import { getSystemErrorMap } from 'node:util';
import { accessRefusals } from './access-refusals.js';
import { computeRefusals } from './compute-refusals.js';
import { forwardingRefusals } from './forwarding-refusals.js';
import { labRefusals } from './lab-refusals.js';
import { otherComputeRefusals } from './other-compute-refusals.js';
import { quotaRefusals } from './quota-refusals.js';
import { Refusal } from './refusal.js';
import { requestRefusals } from './request-refusals.js';
import { snapshotRefusals } from './snapshot-refusals.js';
import { storeRefusals } from './store-refusals.js';

export { Refusal, type Fault } from './refusal.js';
export { archiveFault } from './snapshot-refusals.js';

export const refusals = {
  ...accessRefusals,
  ...requestRefusals,
  ...labRefusals,
  ...snapshotRefusals,
  ...computeRefusals,
  ...quotaRefusals,
  ...storeRefusals,
  ...otherComputeRefusals,
  ...forwardingRefusals,
} as const;

/** Whether the error is a refusal with one of these codes. */
export function isRefusal(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Refusal && codes.includes(error.code);
}

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);

/** The refusal that a failed system call amounts to; undefined when it is nothing that a client can mend. */
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

/** The status and the code of a fault of this server. */
export const INTERNAL_ERROR = { status: 500, code: 'internal_error' } as const;

/** The code of an error of the system or of Node, such as ENOENT; undefined for other errors, and for refusals. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof Refusal || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The most parts of a list that a message names. */
const MOST_NAMED = 20;

/** A list of faults for a message, which names only so many of them. */
export function shortList(faults: readonly string[]): string {
  const more = faults.length - MOST_NAMED;
  return faults.slice(0, MOST_NAMED).join('; ') + (more > 0 ? ` and ${more} more` : '');
}

/** The message of an error. That of a system error does not name paths of this host; its stack does. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('errno' in error) || typeof error.errno !== 'number') return error.message;
  const [code, text] = getSystemErrorMap().get(error.errno) ?? [];
  return code === undefined || text === undefined ? error.message : `${code}: ${text}`;
}
