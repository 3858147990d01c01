/** How jobs look in answers. The console takes its types from here. */
import { z } from 'zod';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

export const job = z.strictObject({
  job_id: uuid,
  /** Backups and the audit are of no project. */
  project_id: uuid.or(z.enum(['backups', 'audit'])),
  kind: z.string(),
  subject: z.string(),
  state: z.enum(['waiting', 'running']),
  done: z.int(),
  total: z.int(),
  started_at: z.string(),
});
/** The last check of something that takes long; those who use it add what was `found`, null until it has ended. */
export const verification = z.strictObject({
  job_id: uuid,
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  done: z.int(),
  total: z.int(),
  ended_at: z.string().nullable(),
  /** Why it failed. */
  reason: z.string().nullable(),
});

export const begunJob = z.strictObject({ job_id: uuid });
export type BegunJobShape = z.output<typeof begunJob>;

export type JobShape = z.output<typeof job>;

export const endedJob = z.strictObject({
  ...job.shape,
  outcome: z.enum(['done', 'failed']),
  /** Why it failed, as the answer to its request would say it. */
  reason: z.string().optional(),
  code: z.string().optional(),
  status: z.int().optional(),
  ended_at: z.string(),
});
/** One job: `result` is what it came to, where its request was answered before its end. */
export const oneJob = z.union([job, z.strictObject({ ...endedJob.shape, result: z.unknown().optional() })]);
export type EndedJobShape = z.output<typeof endedJob>;
