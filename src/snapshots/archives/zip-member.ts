/** The members of a zip archive that somebody else made, and which of their names are accepted. */
import { isUtf8 } from 'node:buffer';

export const ZIP_METHODS = { none: 0, zip: 8, bzip2: 12, lzma: 14 } as const;
/** As the interface calls them (contract C.2). */
export type Compression = keyof typeof ZIP_METHODS;

export interface ZipMember {
  /** With slashes, relative, normal: nothing that would leave where it is unpacked. Of a folder without the last slash. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** Of the content; of a link, of its target's text. */
  readonly size: number;
  readonly compressedSize: number;
  readonly crc32: number;
  readonly compression: Compression;
  /** Of the compressed bytes, in the archive's file. */
  readonly position: number;
  /** The permissions, when the archive tells. */
  readonly mode: number | undefined;
  readonly modifiedMs: number;
}

const LONGEST_NAME = 4096;
const LONGEST_PART = 255;

/** Why nothing of this name is unpacked; undefined when it may be. `octets` are those of the name in the archive. */
export function nameFault(name: string, octets: Uint8Array, saysUtf8: boolean): string | undefined {
  if (name === '') return 'it has no name';
  if (saysUtf8 && !isUtf8(octets)) return 'its name is not valid UTF-8';
  if (Buffer.byteLength(name) > LONGEST_NAME) return `its name is longer than ${LONGEST_NAME} bytes`;
  // In the oldest character set of archives these stand for pictures.
  if (/\p{Cc}/u.test(name) || octets.some((octet) => octet < 0x20 || octet === 0x7f)) {
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

/** Why a link at `path` to `target` is not made; undefined when it may be. */
export function linkFault(path: string, target: string): string | undefined {
  if (target === '' || target.includes('\0') || target.includes('\ufffd')) return 'its target is no path';
  if (target.startsWith('/')) return 'its target is absolute';
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const firstName = parts.findIndex((part) => part !== '..');
  const up = firstName < 0 ? parts.length : firstName;
  if (up > path.split('/').length - 1) return 'its target is outside of the project';
  // That name may be of another link, and what is above its target is not known from the text.
  if (parts.includes('..', up)) return 'its target goes up again behind a name';
  return undefined;
}

export function withoutLastSlash(name: string): string {
  return name.endsWith('/') ? name.slice(0, -1) : name;
}

/** The compressed content of a member is not what it should be; the message tells why, in the words of a refusal. */
export class MemberDamage extends Error {
  override readonly name = 'MemberDamage';
}
