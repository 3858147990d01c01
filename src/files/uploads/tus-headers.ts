/** Parses the headers of the resumable protocol (tus 1.0); refuses (400) malformed ones. */
import { refusals } from '../../base/errors/errors.js';
import type { DigestName } from '../transfer/landing.js';

export const TUS_VERSION = '1.0.0';
export const TUS_EXTENSIONS = 'creation,creation-with-upload,termination,checksum,expiration';

/** By the names of the protocol, in our order of preference. */
const CHECKSUMS: ReadonlyMap<string, { readonly digest: DigestName; readonly length: number }> = new Map([
  ['sha1', { digest: 'sha', length: 20 }],
  ['sha256', { digest: 'sha-256', length: 32 }],
  ['sha512', { digest: 'sha-512', length: 64 }],
  ['md5', { digest: 'md5', length: 16 }],
]);
export const TUS_CHECKSUMS = [...CHECKSUMS.keys()].join(',');

const LONGEST_METADATA = 8192;
const MOST_METADATA = 64;
const METADATA_KEY = /^[\x21-\x2b\x2d-\x7e]+$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The digest that the bytes of a request must have; `hex` is in lower case. */
export interface Checksum {
  readonly digest: DigestName;
  readonly hex: string;
}

/** The number of bytes in Upload-Length or Upload-Offset. */
export function parseOctets(header: string, value: string): number {
  const count = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(count))
    throw refusals.uploadHeader(header, 'it must be a whole number of bytes, less than 2^53');
  return count;
}

/** Undefined for an empty header. */
export function parseChecksum(value: string): Checksum | undefined {
  if (value === '') return undefined;
  const [name = '', encoded = '', ...rest] = value.split(' ');
  const known = CHECKSUMS.get(name);
  if (known === undefined)
    throw refusals.uploadHeader('Upload-Checksum', `the algorithm must be one of ${TUS_CHECKSUMS}`);
  const bytes = Buffer.from(encoded, 'base64');
  if (rest.length > 0 || !BASE64.test(encoded) || bytes.length !== known.length)
    throw refusals.uploadHeader('Upload-Checksum', `${name} is followed by ${known.length} bytes in base64`);
  return { digest: known.digest, hex: bytes.toString('hex') };
}

/** The values by key. Values that are not UTF-8 are left out, as other software may use such. */
export function parseMetadata(value: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (value === '') return found;
  if (value.length > LONGEST_METADATA || !/^[\x20-\x7e]*$/.test(value))
    throw refusals.uploadHeader('Upload-Metadata', `it must be at most ${LONGEST_METADATA} ASCII characters`);
  const pairs = value.split(',');
  if (pairs.length > MOST_METADATA)
    throw refusals.uploadHeader('Upload-Metadata', `it has more than ${MOST_METADATA} entries`);
  const keys = new Set<string>();
  for (const pair of pairs) {
    const [key = '', encoded = '', ...rest] = pair.trim().split(' ');
    if (!METADATA_KEY.test(key) || rest.length > 0 || !BASE64.test(encoded))
      throw refusals.uploadHeader('Upload-Metadata', 'an entry is a key, a space, and a value in base64');
    if (keys.has(key)) throw refusals.uploadHeader('Upload-Metadata', `the key ${key} is there twice`);
    keys.add(key);
    const text = decode(encoded);
    if (text !== undefined) found.set(key, text);
  }
  return found;
}

function decode(encoded: string): string | undefined {
  try {
    return UTF8.decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}
