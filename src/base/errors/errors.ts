/**
 * The one error table. Whatever a client may be told stands in it with its status, by areas in `refusals/`; the HTTP edge
 * turns it into the contract's body. Anything else that is thrown is a fault of ours: it is logged and answered as a
 * 500 without details.
 */
import { computeRefusals } from './compute-refusals.js';
import { labRefusals } from './lab-refusals.js';
import { requestRefusals } from './request-refusals.js';
import { snapshotRefusals } from './snapshot-refusals.js';

export { Refusal } from './refusal.js';

export const refusals = {
  ...requestRefusals,
  ...labRefusals,
  ...snapshotRefusals,
  ...computeRefusals,
} as const;
