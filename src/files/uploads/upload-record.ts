/** What is on the disk of an upload beside its part: a JSON file, so that it outlives the process. */
import { join } from 'node:path';
import { z } from 'zod';
import { uploadTarget } from './upload-wish.js';

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
