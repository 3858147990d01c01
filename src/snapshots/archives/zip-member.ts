/** The members of a zip archive that somebody else made, and which of their names are accepted. */
import { isUtf8 } from 'node:buffer';

export const ZIP_METHODS = { none: 0, zip: 8, bzip2: 12, lzma: 14 } as const;
/** The names that clients use. */
export type Compression = keyof typeof ZIP_METHODS;

export interface ZipMember {
  /** Relative, with slashes, without `.` and `..`; the path of a folder has no slash at its end. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** The length of the content; the content of a link is its target. */
  readonly size: number;
  readonly compressedSize: number;
  readonly crc32: number;
  readonly compression: Compression;
  /** Where the compressed bytes begin in the file of the archive. */
  readonly position: number;
  /** The permissions, if the archive has them. */
  readonly mode: number | undefined;
  readonly modifiedMs: number;
}

const LONGEST_NAME = 4096;
const LONGEST_PART = 255;

/** Why a member of this name is refused; undefined if it is accepted. `rawName` is the name as the archive has it. */
export function nameFault(name: string, rawName: Uint8Array, saysUtf8: boolean): string | undefined {
  if (name === '') return 'it has no name';
  if (saysUtf8 && !isUtf8(rawName)) return 'its name is not valid UTF-8';
  if (Buffer.byteLength(name) > LONGEST_NAME) return `its name is longer than ${LONGEST_NAME} bytes`;
  // The oldest character set of archives has pictures in their place.
  if (/\p{Cc}/u.test(name) || rawName.some((byte) => byte < 0x20 || byte === 0x7f)) {
    return 'its name has control characters';
  }
  if (name.includes('\\')) return 'its name has backslashes';
  if (name.startsWith('/')) return 'its name is absolute';
  if (/^[a-z]:/i.test(name)) return 'its name begins with a drive';
  const parts = withoutLastSlash(name).split('/');
  if (parts.includes('..')) return 'its name leads out of the project';
  if (parts.includes('') || parts.includes('.')) return 'a part of its name is empty or a dot';
  if (parts.some((part) => Buffer.byteLength(part) > LONGEST_PART)) {
    return `a part of its name is longer than ${LONGEST_PART} bytes`;
  }
  return undefined;
}

/** Why a link at `path` to `target` is refused; undefined if it is accepted. */
export function linkFault(path: string, target: string): string | undefined {
  if (target === '' || target.includes('\0') || target.includes('\ufffd')) return 'its target is no path';
  if (target.startsWith('/')) return 'its target is absolute';
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  const up = firstName < 0 ? parts.length : firstName;
  if (up > path.split('/').length - 1) return 'its target is outside of the project';
  // The name before may be a link itself, and the text does not say what is above its target.
  if (parts.includes('..', up)) return 'its target goes up again behind a name';
  return undefined;
}

export function withoutLastSlash(name: string): string {
  return name.endsWith('/') ? name.slice(0, -1) : name;
}

/** The compressed content of a member is damaged; the message completes the sentence of a refusal. */
export class MemberDamage extends Error {
  override readonly name = 'MemberDamage';
}
