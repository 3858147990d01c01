/** Quotas that allow everything and count nothing. */
import type { Claims } from '../../src/lab/quotas/quotas.js';

export const NO_QUOTAS: Claims = {
  claim: () => () => undefined,
  take: () => () => undefined,
  ownersOf: () => [],
};
