/** Reads request headers, and writes response headers. */
import { STATUS_CODES } from 'node:http';
import { refusals } from '../base/errors/errors.js';
import type { DigestName, Digests } from '../files/transfer/landing.js';

/** A status of resumable uploads that no standard has. */
const CHECKSUM_MISMATCH = '460';
const STATUS_LINES = new Map(
  [...Object.entries(STATUS_CODES), [CHECKSUM_MISMATCH, 'Checksum Mismatch'] as const].map(
    ([code, phrase]) => [Number(code), `${code} ${phrase ?? ''}`],
  ),
);

/** The code of a status with its phrase. */
export function statusLine(status: number): string {
  return STATUS_LINES.get(status) ?? String(status);
}

/** The part of a file that a request asks for (RFC 9110, section 14): one range of bytes. */
interface RequestedRange {
  readonly start: number;
  /** The position after the last byte. */
  readonly end: number;
}

/** This is more than two positions of 20 digits and some spaces need. */
const LONGEST_RANGE = 100;
const POSITIONS = /^(\d*)\s*-\s*(\d*)$/;

/**
 * Reads a `Range` header for a file of `size` bytes. Undefined when the whole file is to be sent: also for several
 * ranges, for other units, and for a header that cannot be read.
 */
export function parseRange(header: string, size: number): RequestedRange | 'unsatisfiable' | undefined {
  if (header.length > LONGEST_RANGE) return undefined;
  const [unit = '', positions = '', ...more] = header.split('=');
  if (unit.trim().toLowerCase() !== 'bytes' || more.length > 0) return undefined;
  const [, first = '', last = ''] = POSITIONS.exec(positions.trim()) ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return undefined;
  return start < size ? { start, end } : 'unsatisfiable';
}

/** Whether a list of entity tags, such as `If-None-Match`, has this one. A weak tag counts like a strong one. */
export function listsTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((listed) => listed.trim().replace(/^W\//, '') === tag);
}

/** Control characters and slashes, which no file name can have. */
// oxlint-disable-next-line no-control-regex -- control characters are what is left out
const UNFIT = /[\0-\x1f\x7f/\\]/g;
// oxlint-disable-next-line no-control-regex -- all of ASCII
const NOT_ASCII = /[^\x00-\x7f]/u;

/**
 * The header by which a browser keeps what it gets as a file of this name (RFC 6266). All clients know the plain form,
 * which is for ASCII; for other names the exact form follows it.
 */
export function attachmentHeader(filename: string): readonly [string, string] {
  const name = Buffer.from(filename).toString().replace(UNFIT, '_');
  const plain = name.replace(new RegExp(NOT_ASCII, 'gu'), '_').replaceAll('"', '\\"');
  const exact = NOT_ASCII.test(name) ? exactForm(name) : '';
  return ['Content-Disposition', `attachment; filename="${plain}"${exact}`];
}

function exactForm(name: string): string {
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `; filename*=UTF-8''${encoded}`;
}

/** The request headers in which a client gives digests of the body that it sends (RFC 9530, RFC 1864). */
export const DIGEST_HEADERS = ['content-md5', 'content-digest', 'repr-digest'] as const;

const DIGEST_LENGTHS: Readonly<Partial<Record<DigestName, number>>> = {
  md5: 16,
  'sha-256': 32,
  'sha-512': 64,
};
/** This is more than all known digests together need. */
const LONGEST_DIGESTS = 1024;
/** One member of a list: a name, and the digest in Base64 between colons. */
const MEMBER = /^([a-z0-9_-]+)\s*=\s*:([A-Za-z0-9+/=]*):$/;

/** Reads the digests. Refuses (400) one that cannot be read; passes over those that this server does not know. */
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
  if (members.length > LONGEST_DIGESTS) throw refusals.uploadDigestUnreadable(header);
  return members
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
}

function isDigestName(name: string): name is DigestName {
  return Object.hasOwn(DIGEST_LENGTHS, name);
}

function hexadecimal(base64: string, name: DigestName, header: string): string {
  const bytes = Buffer.from(base64, 'base64');
  // Decoding ignores characters that are not Base64, and ends at the first padding.
  const isWhole = spellings(bytes).includes(base64.trim());
  if (!isWhole || bytes.length !== DIGEST_LENGTHS[name]) throw refusals.uploadDigestUnreadable(header);
  return bytes.toString('hex');
}

/** The Base64 text of the bytes, with padding and without. */
function spellings(bytes: Buffer): string[] {
  const padded = bytes.toString('base64');
  return [padded, padded.replaceAll('=', '')];
}
