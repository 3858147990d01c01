/** Digests that clients send for their bodies, right and wrong. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { refusals } from '../../src/base/errors/errors.js';
import { promisedDigests } from '../../src/http/headers.js';

const BODY = Buffer.from('{"hello": "world"}\n');
const hash = (name: string, encoding: 'base64' | 'hex'): string =>
  createHash(name).update(BODY).digest(encoding);
const MD5 = hash('md5', 'base64');
const SHA256 = hash('sha256', 'base64');
const SHA512 = hash('sha512', 'base64');
const OTHER = createHash('sha256').update('other').digest('base64');

void t.test('every digest that is known here is read', (t) => {
  const promised = promisedDigests({
    'content-digest': `sha-256=:${SHA256}:`,
    'repr-digest': `sha-512=:${SHA512}:,  md5=:${MD5}:`,
    'content-md5': MD5,
  });
  t.same(promised, {
    md5: hash('md5', 'hex'),
    'sha-256': hash('sha256', 'hex'),
    'sha-512': hash('sha512', 'hex'),
  });
  t.same(promisedDigests({}), {});
  t.same(promisedDigests({ 'repr-digest': '', 'content-md5': '' }), {});
  t.end();
});

void t.test('the example of RFC 9530 is read as it is meant', (t) => {
  const header = 'sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:';
  t.same(promisedDigests({ 'repr-digest': header }), {
    'sha-256': '44aff4ab2d7c3250525675a08f0cfa9591168cffe51791c5f5bbc417c15a6c38',
  });
  t.equal(SHA256, 'RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=', 'of this very body');
  t.end();
});

void t.test('digests that are not known here are passed over', (t) => {
  for (const name of ['sha', 'unixsum', 'crc32c', 'constructor', '__proto__', 'x-y_1']) {
    const header = `${name}=:AAAA:, sha-256=:${SHA256}:`;
    t.same(promisedDigests({ 'content-digest': header }), { 'sha-256': hash('sha256', 'hex') }, name);
  }
  t.end();
});

void t.test('digests that cannot be read are refused', (t) => {
  const unreadable = [
    SHA256,
    `sha-256=${SHA256}`,
    `sha-256=:${SHA256}`,
    `sha-256=:${SHA256}:;q=1`,
    `SHA-256=:${SHA256}:`,
    'sha-256=::',
    `sha-256=:${MD5}:`,
    `sha-256=:${SHA256}AAAA:`,
    `sha-256=:${hash('sha256', 'hex')}:`,
    'sha-256',
    '=:AAAA:',
    ':',
    `sha-256=:${SHA256}: sha-512=:${SHA512}:`,
    `sha-256=:${SHA256}\u00ff:`,
    'a'.repeat(15_000),
  ];
  for (const header of unreadable) {
    const short = header.slice(0, 60);
    t.throws(
      () => promisedDigests({ 'repr-digest': header }),
      refusals.uploadDigestUnreadable('repr-digest'),
      short,
    );
    t.throws(() => promisedDigests({ 'content-digest': header }), { status: 400 } as never, short);
  }
  for (const header of [SHA256, 'x', hash('md5', 'hex'), `:${MD5}:x`, '====']) {
    t.throws(
      () => promisedDigests({ 'content-md5': header }),
      refusals.uploadDigestUnreadable('content-md5'),
      header,
    );
  }
  t.end();
});

void t.test('headers that contradict each other cannot both be kept', (t) => {
  const headers = { 'content-digest': `sha-256=:${OTHER}:`, 'repr-digest': `sha-256=:${SHA256}:` };
  t.throws(() => promisedDigests(headers), refusals.uploadDiffers('sha-256'));
  t.throws(
    () => promisedDigests({ 'repr-digest': `md5=:${MD5}:`, 'content-md5': 'A'.repeat(22) + '==' }),
    refusals.uploadDiffers('md5'),
  );
  const same = { 'content-digest': `sha-256=:${SHA256}:`, 'repr-digest': `sha-256=:${SHA256}:` };
  t.same(promisedDigests(same), { 'sha-256': hash('sha256', 'hex') });
  t.end();
});
