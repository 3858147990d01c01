/** The names that clients give to images, and the image folders of the emulators. */
import { posix } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { foldedName } from '../../base/disk/own-names.js';

export const EMULATORS = ['qemu', 'iou', 'dynamips'] as const;
export type Emulator = (typeof EMULATORS)[number];

/** Below the images folder; other programs use the same names. */
export const IMAGE_FOLDERS: Readonly<Record<Emulator, string>> = {
  qemu: 'QEMU',
  iou: 'IOU',
  dynamips: 'IOS',
};

/** The extension of the file beside an image that holds its MD5. */
export const SIDE_FILE = '.md5sum';
/** The extension of unfinished files of other programs that serve the same folder. */
export const UNFINISHED_FILE = '.tmp';
/** How many levels of folders below that of the emulator are searched. */
export const DEEPEST = 8;

const LONGEST_NAME = 1024;
const LONGEST_PART = 255;
/** A name that can still be decoded after so many rounds is an attack. */
const DECODINGS = 8;

export function isEmulator(name: string): name is Emulator {
  return (EMULATORS as readonly string[]).includes(name);
}

/**
 * The path below the folder of the emulator that a client means. Refuses a name that leaves that folder (403), even after
 * further decoding, and one that cannot be the name of an image (400).
 */
export function imageName(given: string, doing: 'read' | 'write' | 'delete' | 'rename'): string {
  if (Buffer.byteLength(given) > LONGEST_NAME) {
    throw refusals.imageNameRefused(given, `it is longer than ${LONGEST_NAME} bytes`);
  }
  if (leaves(given) || decodings(given).some(leaves)) throw refusals.imageOutside(doing, given);
  const name = normalized(given);
  const parts = name.split('/');
  const reason = name === '' ? 'it is empty' : parts.map(faultOf).find((fault) => fault !== undefined);
  if (reason !== undefined) throw refusals.imageNameRefused(given, reason);
  if (parts.length > DEEPEST + 1) {
    throw refusals.imageNameRefused(given, `it is more than ${DEEPEST} folders deep`);
  }
  return name;
}

function faultOf(part: string): string | undefined {
  const folded = foldedName(part);
  if (part.startsWith('.')) return 'no part of it may begin with a dot';
  if (folded.endsWith(SIDE_FILE)) return `${SIDE_FILE} files are written by the server`;
  if (folded.endsWith(UNFINISHED_FILE)) return `${UNFINISHED_FILE} is what unfinished files end in`;
  if (Buffer.byteLength(part) > LONGEST_PART) return `a part of it is longer than ${LONGEST_PART} bytes`;
  return undefined;
}

function leaves(name: string): boolean {
  const path = normalized(name);
  return (
    name.includes('\0') ||
    path.startsWith('/') ||
    /^[a-z]:\//i.test(path) ||
    path === '..' ||
    path.startsWith('../')
  );
}

function normalized(name: string): string {
  const path = posix.normalize(name.replaceAll('\\', '/')).replace(/(.)\/$/, '$1');
  return path === '.' ? '' : path;
}

/** The name after each further round of decoding; after too many rounds, a name that is refused. */
function decodings(name: string): string[] {
  const found: string[] = [];
  for (let text = name; found.length <= DECODINGS;) {
    const decoded = text.replace(/%([\da-f]{2})/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (decoded === text) return found;
    found.push(decoded);
    text = decoded;
  }
  return ['..'];
}
