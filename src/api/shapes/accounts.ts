/** How accounts and sessions look in answers. The console takes its types from here. */
import { z } from 'zod';
import { RIGHTS } from '../../base/rights.js';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

export const account = z.strictObject({
  name: z.string(),
  rights: z.array(z.enum(RIGHTS)),
  token_id: z.string().nullable(),
  user_id: uuid.nullable(),
});

export const session = z.strictObject({ ...account.shape, expires_at: z.iso.datetime().nullable() });
export type SessionShape = z.output<typeof session>;
