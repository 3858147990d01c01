/** How accounts, sessions and tokens look in answers. The console takes its types from here. */
import { z } from 'zod';
import { RIGHTS } from '../../base/rights.js';
import { userRole } from '../../lab/access/account-form.js';
import { uuid } from '../../lab/gns3-file/topology-schema.js';
import { limits } from '../../lab/quotas/resources.js';

const time = z.iso.datetime();

export const account = z.strictObject({
  name: z.string(),
  rights: z.array(z.enum(RIGHTS)),
  token_id: z.string().nullable(),
  user_id: uuid.nullable(),
});

export const session = z.strictObject({ ...account.shape, expires_at: time.nullable() });
export type SessionShape = z.output<typeof session>;

export const user = z.strictObject({
  created_at: time,
  has_password: z.boolean(),
  name: z.string(),
  quota: limits,
  role: userRole,
  user_id: uuid,
});
export type UserShape = z.output<typeof user>;

export const token = z.strictObject({
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: time.nullable(),
  name: z.string(),
  projects: z.array(uuid).nullable(),
  rights: z.array(z.enum(RIGHTS)).nullable(),
  token_id: z.string(),
  user_id: uuid,
});
export type TokenShape = z.output<typeof token>;

/** Only the answer that makes a token shows it. */
export const shownToken = z.strictObject({ ...token.shape, token: z.string() });
export type ShownTokenShape = z.output<typeof shownToken>;
