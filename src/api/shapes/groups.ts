/** How groups, and grants on projects, look in answers. The console takes its types from here. */
import { z } from 'zod';
import { GRANTS } from '../../base/rights.js';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

export const group = z.strictObject({
  created_at: z.iso.datetime(),
  group_id: uuid,
  members: z.array(z.string()),
  name: z.string(),
  teachers: z.array(z.string()),
});
export type GroupShape = z.output<typeof group>;

/** How far the caller may use a project. */
export const ownGrant = z.strictObject({ grant: z.enum(GRANTS) });
export type OwnGrantShape = z.output<typeof ownGrant>;

export const userGrant = z.strictObject({ grant: z.enum(GRANTS), name: z.string(), user_id: uuid });
export type UserGrantShape = z.output<typeof userGrant>;

export const groupGrant = z.strictObject({ grant: z.string(), group_id: uuid, name: z.string() });
export type GroupGrantShape = z.output<typeof groupGrant>;
