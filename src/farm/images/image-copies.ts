/**
 * The records of images: each server has one for each of its images, and writes it alone, so no claim is needed. Only a server
 * that deletes an image writes into those of others: they say that the copy is to go, also to a server that is away.
 */
import { z } from 'zod';
import type { Change, Key, StoredRecord } from '../../base/store/store.js';
import { isEmulator, type Emulator } from '../../files/images/image-name.js';
import type { ImageContent } from '../../files/images/images-elsewhere.js';
import { keyOf, type RecordListener } from '../followed-records.js';

/** The first part of the keys. */
export const IMAGE_COPY = 'image-copy';

const imageCopy = z.object({
  size: z.int().nonnegative(),
  sha256: z.string().regex(/^[\da-f]{64}$/),
  md5: z
    .string()
    .regex(/^[\da-f]{32}$/)
    .optional(),
  /** The image was deleted, and the server still has to delete its copy. */
  isDeleted: z.boolean().optional(),
});

export type ImageCopy = z.infer<typeof imageCopy>;

export class ImageCopies implements RecordListener {
  /** By server, and by emulator and name. */
  readonly #copies = new Map<string, Map<string, ImageCopy>>();
  /** Called after changes of others. */
  onChanged: () => void = () => undefined;

  replaced(records: readonly StoredRecord[]): void {
    this.#copies.clear();
    for (const { key, value } of records) this.#set(key, value);
    this.onChanged();
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) this.apply(change);
    this.onChanged();
  }

  apply(change: Change): void {
    const key = keyOf(change);
    const [, server = '', emulator, name] = key;
    if ('put' in change) this.#set(key, change.value);
    else if (key.length === 1) this.#copies.clear();
    else if (emulator === undefined || name === undefined) this.#copies.delete(server);
    else this.#copies.get(server)?.delete(`${emulator}/${name}`);
  }

  of(server: string, emulator: Emulator, name: string): ImageCopy | undefined {
    return this.#copies.get(server)?.get(`${emulator}/${name}`);
  }

  /** The copies of an image, by server, but for those that are to go. */
  holders(emulator: Emulator, name: string): ReadonlyMap<string, ImageCopy> {
    const found = new Map<string, ImageCopy>();
    for (const [server, copies] of this.#copies) {
      const copy = copies.get(`${emulator}/${name}`);
      if (copy !== undefined && copy.isDeleted !== true) found.set(server, copy);
    }
    return found;
  }

  /** The images of an emulator that servers have, by name; only those of one server when it is given. */
  listed(emulator: Emulator, server?: string): ReadonlyMap<string, ImageContent> {
    const found = new Map<string, ImageContent>();
    for (const [holder, copies] of this.#copies) {
      if (server !== undefined && holder !== server) continue;
      for (const [key, copy] of copies)
        if (key.startsWith(`${emulator}/`) && copy.isDeleted !== true)
          found.set(key.slice(emulator.length + 1), copy);
    }
    return found;
  }

  /** All records of a server. */
  *ofServer(server: string): Generator<{ emulator: Emulator; name: string; copy: ImageCopy }> {
    for (const [key, copy] of this.#copies.get(server) ?? []) {
      const emulator = key.slice(0, key.indexOf('/'));
      if (isEmulator(emulator)) yield { emulator, name: key.slice(emulator.length + 1), copy };
    }
  }

  /** A record of a later version that this one cannot read is that of no copy. */
  #set([, server = '', emulator = '', name = '']: Key, value: unknown): void {
    const { data } = imageCopy.safeParse(value);
    const copies = this.#copies.get(server) ?? new Map<string, ImageCopy>();
    this.#copies.set(server, copies);
    if (data === undefined) copies.delete(`${emulator}/${name}`);
    else copies.set(`${emulator}/${name}`, data);
  }
}

export function copyKey(server: string, emulator: Emulator, name: string): Key {
  return [IMAGE_COPY, server, emulator, name];
}
