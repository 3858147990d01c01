/** The manifest of a backup, and the names in the folder of all backups. Pure. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';

const digest = z.string().regex(/^[0-9a-f]{64}$/);
/** Names below a folder, with slashes, which lead nowhere else. */
const path = z
  .string()
  .max(4096)
  .refine((text) => text.split('/').every((part) => !['', '.', '..'].includes(part) && !part.includes('\0')));

const backedFile = z.strictObject({
  path,
  size: z.int().min(0),
  mode: z.int().min(0),
  modified_ms: z.number(),
  digest,
  /** The version of the file when it was backed up: while it has this version, it has the same content. */
  version: z.string(),
});

const backedProject = z.strictObject({
  project_id: z.uuid(),
  name: z.string(),
  /** The name of its folder in the projects folder. */
  folder: path.refine((text) => !text.includes('/')),
  has_snapshots: z.boolean(),
  /** Nodes that ran and could not be held: their files are those of a machine that has crashed. */
  crash_consistent: z.array(z.string()),
});

/** A project that could not be read. */
const leftOutProject = z.strictObject({ project_id: z.uuid(), name: z.string(), reason: z.string() });

const manifest = z.strictObject({
  format: z.literal(1),
  backup_id: z.uuid(),
  created_at: z.string(),
  /** The version of the program. */
  version: z.string(),
  /** The records of all but the projects. */
  records: digest,
  /** The length of all files. */
  size: z.int(),
  /** The bytes that the folder of backups has grown by. */
  added: z.int(),
  files: z.array(backedFile),
  projects: z.array(backedProject),
  /** Only a backup without some projects has it, so that earlier versions read the others. */
  left_out: z.array(leftOutProject).optional(),
});

export type BackedFile = z.infer<typeof backedFile>;
export type BackedProject = z.infer<typeof backedProject>;
export type LeftOutProject = z.infer<typeof leftOutProject>;
export type BackupManifest = z.infer<typeof manifest>;

export const MANIFEST = 'manifest.json';
export const OBJECTS = 'objects';
/** The parts that come into a backup on request. */
export const EXTRAS = ['captures', 'history', 'audit'] as const;
export type BackupExtra = (typeof EXTRAS)[number];

/** Files that are being made. */
export const BACKUP_WORK = '.work';
/** The file for the records that the state thread writes. */
export const RECORDS_FILE = `${BACKUP_WORK}/records`;
const PARTS = ['projects', 'project-snapshots'] as const;

/** The part of a project: its files, or its snapshots. */
export type PartKind = (typeof PARTS)[number];

/** The folder of the content store of a part, below that of the backups. */
export const partFolder = (kind: PartKind, projectId: string): string => `${kind}/${projectId}`;
export const objectPath = (folder: string, name: string): string => join(folder, OBJECTS, name);

/** Members of an archive have the names that files have in the folder of backups, but for the manifest. */
export function isMember(name: string): boolean {
  return (
    name === MANIFEST ||
    /^objects\/[0-9a-f]{64}$/.test(name) ||
    /^(projects|project-snapshots)\/[0-9a-f-]{36}\/([0-9a-f-]{36}\.manifest|content\/[\w.-]{1,200})$/.test(
      name,
    )
  );
}

const NO_MANIFEST = 'it is not what was written';

export function manifestText(made: BackupManifest): string {
  const text = JSON.stringify(made);
  return `${sumOf(text)}\n${text}\n`;
}

/** Throws for anything that `manifestText` has not made. */
export function parseBackup(text: string): BackupManifest {
  const [sum, body = '', ...rest] = text.split('\n');
  if (sum !== sumOf(body) || rest.length !== 1 || rest[0] !== '') throw new Error(NO_MANIFEST);
  const value: unknown = JSON.parse(body);
  const { format } = z.object({ format: z.number() }).parse(value);
  if (format !== 1) throw new Error(`it has the format ${format}, which a newer Wirefarm can read`);
  return manifest.parse(value);
}

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
