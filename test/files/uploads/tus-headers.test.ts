import { createHash } from 'node:crypto';
import t from 'tap';
import { parseChecksum, parseMetadata, parseOctets } from '../../../src/files/uploads/tus-headers.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const refused = { status: 400, message: /./ };

void t.test('numbers of bytes', (t) => {
  t.equal(parseOctets('Upload-Length', '0'), 0);
  t.equal(parseOctets('Upload-Length', '9007199254740991'), Number.MAX_SAFE_INTEGER);
  for (const text of ['', '-1', '+1', '1.5', '1e3', '0x10', ' 1', '9007199254740992', '1'.repeat(40), 'NaN'])
    t.throws(() => parseOctets('Upload-Length', text), refused, text);
  t.end();
});

void t.test('checksums of every algorithm that is offered', (t) => {
  t.equal(parseChecksum(''), undefined);
  for (const [name, digest] of [
    ['sha1', 'sha'],
    ['sha256', 'sha-256'],
    ['sha512', 'sha-512'],
    ['md5', 'md5'],
  ] as const) {
    const hash = createHash(name).update('x').digest();
    t.same(parseChecksum(`${name} ${hash.toString('base64')}`), { digest, hex: hash.toString('hex') });
  }
  for (const text of [
    'crc32 AAAA',
    'md5',
    'md5 ',
    'md5 AAAA',
    'md5 !!!!!!!!!!!!!!!!!!!!!!!!',
    `md5 ${base64('0123456789abcdef')} x`,
    `MD5 ${base64('0123456789abcdef')}`,
    `sha1 ${base64('0123456789abcdef')}`,
  ])
    t.throws(() => parseChecksum(text), refused, text);
  t.end();
});

void t.test('metadata', (t) => {
  t.equal(parseMetadata('').size, 0);
  const sent = `filename ${base64('Gerät 1.img')},emulator ${base64('qemu')}, is_secret,thumb //79`;
  t.same(
    [...parseMetadata(sent)],
    [
      ['filename', 'Gerät 1.img'],
      ['emulator', 'qemu'],
      ['is_secret', ''],
    ],
    'bytes that are no text are passed over',
  );
  for (const [what, text] of [
    ['junk', 'filename $$$'],
    ['not padded', 'filename YQ'],
    ['a key twice', `a ${base64('1')},a ${base64('2')}`],
    ['no key', ` ${base64('1')},`],
    ['three words', 'a YQ== b'],
    ['too long', `a ${'QUFB'.repeat(3000)}`],
    ['too many', Array.from({ length: 65 }, (_, index) => `k${index}`).join(',')],
    ['no ASCII', 'é YQ=='],
    ['control characters', 'a\tYQ=='],
  ] as const)
    t.throws(() => parseMetadata(text), refused, what);
  t.end();
});
