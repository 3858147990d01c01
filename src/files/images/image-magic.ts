/** The first bytes of the images of an emulator, by which they are listed. */
import type { Emulator } from './image-name.js';

/** Shorter files are no images. */
export const MAGIC_LENGTH = 7;

const ELF = [0x7f, 0x45, 0x4c, 0x46];
const IOU_32 = [...ELF, 1, 1, 1];
const IOU_64 = [...ELF, 2, 1, 1];
const IOS = [...ELF, 1, 2, 1];

export function isImageOf(emulator: Emulator, head: Uint8Array): boolean {
  const begins = (magic: readonly number[]): boolean => magic.every((byte, index) => head[index] === byte);
  switch (emulator) {
    case 'qemu':
      return !begins(ELF);
    case 'iou':
      return begins(IOU_32) || begins(IOU_64);
    case 'dynamips':
      return begins(IOS);
  }
}
