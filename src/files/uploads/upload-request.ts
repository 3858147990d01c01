/** What a client wants of an upload, as its metadata says: where it lands, and what it must turn out to be. */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import type { Digests } from '../transfer/landing.js';
import { parseOrRefuse } from '../../base/errors/validation.js';
import { join } from 'node:path';
import type { Throttle } from '../transfer/slab-stream.js';

const LONGEST_NAME = 4096;
const name = z.string().min(1).max(LONGEST_NAME);

const imageTarget = z.strictObject({ emulator: z.enum(['qemu', 'iou', 'dynamips']), filename: name });
const nodeFileTarget = z.strictObject({ project_id: name, node_id: name, path: name });
export const uploadTarget = z.union([imageTarget, nodeFileTarget]);
/** An image, or a file of a node. */
export type UploadTarget = z.output<typeof uploadTarget>;

const hexDigest = (bytes: number): z.ZodType<string | undefined> =>
  z
    .string()
    .regex(new RegExp(`^[0-9A-Fa-f]{${bytes * 2}}$`), `must be ${bytes * 2} hexadecimal digits`)
    .transform((hex) => hex.toLowerCase())
    .optional();
const promises = z.object({ sha256: hexDigest(32), md5: hexDigest(16) });

export interface UploadRequest {
  readonly size: number;
  readonly target: UploadTarget;
  /** What the whole must have. */
  readonly digests: Digests;
  /** As the client sent it, and gets it back. */
  readonly metadata: string;
  /** The address that it comes from, as far as places are shared out. */
  readonly client?: string;
}

export function targetOf(metadata: ReadonlyMap<string, string>): UploadTarget {
  const emulator = metadata.get('emulator');
  const projectId = metadata.get('project_id');
  const filename = metadata.get('filename');
  if (emulator !== undefined && projectId !== undefined)
    throw refusals.uploadHeader(
      'Upload-Metadata',
      'it names an emulator and a project: only one can be meant',
    );
  if (emulator !== undefined) return parseOrRefuse(imageTarget, { emulator, filename }, 'Upload-Metadata');
  if (projectId === undefined)
    throw refusals.uploadHeader(
      'Upload-Metadata',
      'say where it is to land: emulator and filename for an image, or project_id, node_id and path for a file ' +
        'of a node',
    );
  const path = metadata.get('path') ?? filename;
  const target = { project_id: projectId, node_id: metadata.get('node_id'), path };
  return parseOrRefuse(nodeFileTarget, target, 'Upload-Metadata');
}

export function promisedDigests(metadata: ReadonlyMap<string, string>): Digests {
  const { sha256, md5 } = parseOrRefuse(promises, Object.fromEntries(metadata), 'Upload-Metadata');
  return { ...(sha256 === undefined ? {} : { 'sha-256': sha256 }), ...(md5 === undefined ? {} : { md5 }) };
}

/** What is on the disk of an upload beside its part: a JSON file, so that it outlives the process. */

export const uploadRecord = z.strictObject({
  upload_id: z.uuid(),
  target: uploadTarget,
  size: z.int().nonnegative(),
  /** What the whole must have, in lower-case hexadecimal. */
  digests: z.partialRecord(z.enum(['md5', 'sha-256']), z.string()),
  metadata: z.string(),
  /** It may have landed: who finds no part finds it where it was to land. */
  landing: z.boolean().default(false),
  /** Times are in milliseconds since 1970. */
  started_at: z.number(),
  /** Null while it has not landed. */
  finished_at: z.number().nullable(),
});
export type UploadRecord = z.output<typeof uploadRecord>;

/** Undefined for what is none. */
export function parseRecord(text: string): UploadRecord | undefined {
  try {
    return uploadRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Which upload it is, and where uploads lie. */
export interface UploadPlace {
  readonly folder: string;
  /** A UUID of ours. */
  readonly id: string;
}

export function partPath({ folder, id }: UploadPlace): string {
  return join(folder, `${id}.part`);
}

/** The bytes that one request brings, as an upload sees them. */

export interface UploadBody {
  /** As the client says; undefined when it does not. */
  readonly length: number | undefined;
  readonly throttle: Throttle;
  /** The address that it comes from. */
  readonly client: string;
  /**
   * Gives the sink everything, within its calls, until the body ends. Rejects with what the sink throws or `failure`
   * rejects with, and when the client has gone or sends nothing for too long; nothing is given after that.
   */
  into(sink: { write(bytes: Uint8Array): void }, failure: Promise<never>): Promise<void>;
}
