/**
 * The requests of a resumable upload: its creation, with target and promised digests, the record that keeps these on the
 * disk, and the body of each request.
 */
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
const uploadTarget = z.union([imageTarget, nodeFileTarget]);
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
  /** The digests that the whole must have. */
  readonly digests: Digests;
  /** As the client sent it, and gets it back. */
  readonly metadata: string;
  /** The address of the client, for sharing out places. */
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

const uploadRecord = z.strictObject({
  upload_id: z.uuid(),
  target: uploadTarget,
  size: z.int().nonnegative(),
  /** The digests that the whole must have, in lower-case hexadecimal. */
  digests: z.partialRecord(z.enum(['md5', 'sha-256']), z.string()),
  metadata: z.string(),
  /** Set before the part is renamed: if the part is missing, the upload has landed. */
  landing: z.boolean().default(false),
  /** Times are in milliseconds since 1970. */
  started_at: z.number(),
  /** Null while it has not landed. */
  finished_at: z.number().nullable(),
});
export type UploadRecord = z.output<typeof uploadRecord>;

/** Undefined for text that is no record. */
export function parseRecord(text: string): UploadRecord | undefined {
  try {
    return uploadRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The folder of the uploads, and the id of one. */
export interface UploadPlace {
  readonly folder: string;
  /** A UUID. */
  readonly id: string;
}

export function partPath({ folder, id }: UploadPlace): string {
  return join(folder, `${id}.part`);
}

/** The body of one request. */
export interface UploadBody {
  /** Undefined if the client has not given it. */
  readonly length: number | undefined;
  readonly throttle: Throttle;
  /** The address of the client. */
  readonly client: string;
  /**
   * Writes the whole body to the sink; bytes are valid only within a call of `write`. Rejects with an error of the sink
   * or of `failure`, and when the client has gone or sends nothing for too long; nothing is written after that.
   */
  into(sink: { write(bytes: Uint8Array): void }, failure: Promise<never>): Promise<void>;
}
