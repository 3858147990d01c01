/**
 * Makes a key and a certificate that is signed by that key (X.509, RFC 5280). Node.js makes and signs keys, but no
 * certificates; the openssl program is not on every host, in small images least. So the few structures are written here,
 * each as its type, its length and its content (DER).
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

const TYPE = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  objectId: 0x06,
  text: 0x0c,
  utcTime: 0x17,
  generalTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;
/** A field of this number that says by it what it is. */
const field = (number: number): number => 0x80 + number;
const wrapper = (number: number): number => 0xa0 + number;

/** Names of kinds, in DER. */
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const KEY_USAGE = '551d0f';
const OTHER_NAMES = '551d11';
const BASIC_CONSTRAINTS = '551d13';
const EXTENDED_KEY_USAGE = '551d25';
const SERVER_AUTHENTICATION = '2b06010505070301';

/** The keys of Apple's systems take no longer ones. */
const DAYS = 825;
const DAY_MS = 24 * 3600 * 1000;
/** Clocks of clients may be late. */
const EARLIER_MS = DAY_MS;
const LONGEST_COMMON_NAME = 64;

/** The names are host names and addresses, the first of which is the main one. */
export function selfSigned(names: readonly [string, ...string[]], now: Date): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const commonName = sequence(objectId(COMMON_NAME), item(TYPE.text, names[0].slice(0, LONGEST_COMMON_NAME)));
  const name = sequence(item(TYPE.set, commonName));
  const signed = sequence(
    item(wrapper(0), item(TYPE.integer, Buffer.of(2))),
    item(TYPE.integer, serialNumber()),
    algorithm,
    name,
    sequence(time(now.getTime() - EARLIER_MS), time(now.getTime() + DAYS * DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    item(wrapper(3), extensions(names)),
  );
  const signature = sign('sha256', signed, privateKey);
  return {
    certificate: pem('CERTIFICATE', sequence(signed, algorithm, bits(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function extensions(names: readonly string[]): Buffer {
  const isCritical = item(TYPE.boolean, Buffer.of(0xff));
  const digitalSignature = item(TYPE.bits, Buffer.of(7, 0x80));
  return sequence(
    sequence(objectId(BASIC_CONSTRAINTS), isCritical, item(TYPE.octets, sequence())),
    sequence(objectId(KEY_USAGE), isCritical, item(TYPE.octets, digitalSignature)),
    sequence(objectId(EXTENDED_KEY_USAGE), item(TYPE.octets, sequence(objectId(SERVER_AUTHENTICATION)))),
    sequence(objectId(OTHER_NAMES), item(TYPE.octets, sequence(...names.map(otherName)))),
  );
}

function otherName(name: string): Buffer {
  return isIP(name) === 0 ? item(field(2), name) : item(field(7), addressBytes(name));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The host of a URL has no dotted part, and `::` at most once.
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = [], after = []] = plain.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** A positive number that no other certificate has. */
function serialNumber(): Buffer {
  const number = randomBytes(16);
  number[0] = 0x40 | ((number[0] ?? 0) & 0x3f);
  return number;
}

/** Years from 2050 on have four digits. */
function time(at: number): Buffer {
  const digits = `${new Date(at).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  return digits < '2050' ? item(TYPE.utcTime, digits.slice(2)) : item(TYPE.generalTime, digits);
}

function sequence(...items: readonly Buffer[]): Buffer {
  return item(TYPE.sequence, ...items);
}

function objectId(hexadecimal: string): Buffer {
  return item(TYPE.objectId, Buffer.from(hexadecimal, 'hex'));
}

/** The first octet says how many bits of the last one are unused. */
function bits(bytes: Buffer): Buffer {
  return item(TYPE.bits, Buffer.of(0), bytes);
}

function item(type: number, ...contents: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(contents.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.of(type), lengthOf(content), content]);
}

/** A length below 128 is one octet; another one follows the count of its octets. */
function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.of(length);
  if (length < 0x100) return Buffer.of(0x81, length);
  return Buffer.of(0x82, length >> 8, length & 0xff);
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
