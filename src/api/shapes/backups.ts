/** How backups look in answers. The console takes its types from here. */
import { z } from 'zod';
import { verification } from './jobs.js';

const backupSummary = z.strictObject({
  backup_id: z.string(),
  created_at: z.string(),
  /** The version of the program that made it. */
  version: z.string(),
  projects: z.int(),
  /** The length of all files. */
  size: z.int(),
  /** The bytes that the folder of backups has grown by. */
  added: z.int(),
  /** Nodes that ran and could not be held, each as `project/node`. */
  crash_consistent: z.array(z.string()).readonly(),
  /** Projects that could not be read. */
  left_out: z
    .array(z.strictObject({ project_id: z.string(), name: z.string(), reason: z.string() }))
    .readonly(),
});
const backupDamage = z.strictObject({
  faults: z.int(),
  /** The first faults. */
  damaged: z.array(z.strictObject({ path: z.string(), reason: z.string() })).readonly(),
});
export const backupList = z.strictObject({
  backups: z.array(backupSummary).readonly(),
  /** Backups whose manifests cannot be read. */
  damaged: z.array(z.string()).readonly(),
  making: z.array(z.strictObject({ backup_id: z.string(), done: z.int(), total: z.int() })).readonly(),
  failure: z.string().nullable(),
  /** The last verification of each backup since the start of the server. */
  verifications: z
    .array(verification.extend({ backup_id: z.string(), found: backupDamage.nullable() }))
    .readonly(),
  /** So many backups are kept; 0 keeps all. */
  keep: z.int(),
});
export type BackupListShape = z.output<typeof backupList>;
export type BackupSummaryShape = z.output<typeof backupSummary>;
export type BackupVerificationShape = BackupListShape['verifications'][number];
