/** How quotas look in answers. The console takes its types from here. */
import { z } from 'zod';
import { limits, RESOURCES } from '../../lab/quotas/resources.js';

const usage = z.record(
  z.enum(RESOURCES),
  z.strictObject({ used: z.number(), allowed: z.number().nullable() }),
);
export type UsageShape = z.output<typeof usage>;

export const ownQuota = z.strictObject({ user: usage.nullable(), server: usage.nullable() });
export type OwnQuotaShape = z.output<typeof ownQuota>;

/** `limits` are those that an admin has given, in place of those of the settings. */
export const holderQuota = z.strictObject({ limits, usage });
export type HolderQuotaShape = z.output<typeof holderQuota>;
