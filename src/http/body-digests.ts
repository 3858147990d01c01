/** The digests that a client gives of the body that it sends (RFC 9530, RFC 1864). */
import { refusals } from '../base/errors/errors.js';
import type { DigestName, Digests } from '../files/transfer/landing.js';

/** The request headers that are read here. */
export const DIGEST_HEADERS = ['content-md5', 'content-digest', 'repr-digest'] as const;

const DIGEST_LENGTHS: Readonly<Partial<Record<DigestName, number>>> = {
  md5: 16,
  'sha-256': 32,
  'sha-512': 64,
};
/** More than all digests that are known here need. */
const LONGEST_HEADER = 1024;
/** One member of a list: a name, and its octets in Base64 between colons. */
const MEMBER = /^([a-z0-9_-]+)\s*=\s*:([A-Za-z0-9+/=]*):$/;

/** Refuses (400) digests that cannot be read; passes over those that are not known here. */
export function promisedDigests(headers: Readonly<Record<string, string>>): Digests {
  const digests: Partial<Record<DigestName, string>> = {};
  const promise = (name: DigestName, base64: string, header: string): void => {
    const digest = hexadecimal(base64, name, header);
    if ((digests[name] ?? digest) !== digest) throw refusals.uploadDiffers(name);
    digests[name] = digest;
  };
  for (const header of ['content-digest', 'repr-digest']) {
    for (const member of listed(header, headers[header] ?? '')) {
      const [, name = '', base64 = ''] = MEMBER.exec(member) ?? [];
      if (name === '') throw refusals.uploadDigestUnreadable(header);
      if (isDigestName(name)) promise(name, base64, header);
    }
  }
  const md5 = headers['content-md5'] ?? '';
  if (md5 !== '') promise('md5', md5, 'content-md5');
  return digests;
}

function listed(header: string, members: string): string[] {
  if (members.length > LONGEST_HEADER) throw refusals.uploadDigestUnreadable(header);
  return members
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

function isDigestName(name: string): name is DigestName {
  return Object.hasOwn(DIGEST_LENGTHS, name);
}

function hexadecimal(base64: string, name: DigestName, header: string): string {
  const octets = Buffer.from(base64, 'base64');
  // Decoding passes over what is no Base64, and ends at the first padding.
  const isWhole = spellings(octets).includes(base64.trim());
  if (!isWhole || octets.length !== DIGEST_LENGTHS[name]) throw refusals.uploadDigestUnreadable(header);
  return octets.toString('hex');
}

/** With the padding, and without. */
function spellings(octets: Buffer): string[] {
  const padded = octets.toString('base64');
  return [padded, padded.replaceAll('=', '')];
}
