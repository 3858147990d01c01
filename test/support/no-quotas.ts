/** Quotas that allow everything and count nothing. */
import type { Claims, DiskQuotas } from '../../src/lab/quotas/quotas.js';

export const NO_QUOTAS: Claims & DiskQuotas = {
  claim: () => () => undefined,
  take: () => () => undefined,
  ownersOf: () => [],
  measured: () => undefined,
  roomOf: () => [],
};
