/** How the audit and its check look in answers. The console takes its types from here. */
import { z } from 'zod';
import { verification } from './jobs.js';

const auditVerdict = z.strictObject({
  lines: z.int(),
  /** The numbers of the first and the last line. */
  range: z.string(),
  faults: z.int(),
  /** The first faults. */
  first: z.array(z.string()).readonly(),
});
/** Null before the first verification. */
export const auditVerification = verification.extend({ found: auditVerdict.nullable() }).nullable();
export type AuditVerificationShape = z.output<typeof auditVerification>;

const auditLine = z.strictObject({
  sequence: z.int(),
  time: z.iso.datetime(),
  req: z.string(),
  kind: z.enum(['change', 'command', 'lost', 'refused', 'sign_in']),
  user: z.string().nullable(),
  user_id: z.string().nullable(),
  token: z.string().nullable(),
  address: z.string().nullable(),
  method: z.string().nullable(),
  route: z.string().nullable(),
  ids: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  status: z.int().nullable(),
  before: z.string(),
});
export type AuditLineShape = z.output<typeof auditLine>;
