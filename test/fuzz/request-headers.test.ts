/** Headers of requests: each is understood as what it can mean, or refused. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import t from 'tap';
import { listsTag, parseRange, promisedDigests } from '../../src/http/headers.js';
import { parseChecksum, parseMetadata, parseOctets } from '../../src/files/uploads/tus-headers.js';
import { promisedDigests as promisedByMetadata, targetOf } from '../../src/files/uploads/upload-request.js';
import { fuzz, unlessRefused } from '../support/fuzzer.js';
import { newGate } from '../support/new-gate.js';
import { rounds } from '../support/rounds.js';

const INPUTS = rounds(800, 20_000);
const SIZES = [0, 1, 1000, Number.MAX_SAFE_INTEGER];
const DIGEST_LENGTHS = { md5: 16, sha: 20, 'sha-256': 32, 'sha-512': 64 } as const;
const MD5 = Buffer.alloc(16, 1).toString('base64');
const SHA256 = Buffer.alloc(32, 2).toString('base64');

/** The octets of a header, one character each. */
const textOf = (input: Buffer): string => input.toString('latin1');

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

void t.test('Range', async (t) => {
  const check = (input: Buffer): void => {
    const header = textOf(input);
    listsTag(header, '"a"');
    for (const size of SIZES) {
      const range = parseRange(header, size);
      if (range === undefined || range === 'unsatisfiable') continue;
      ok(range.start >= 0 && range.start < range.end && range.end <= size, JSON.stringify(range));
      deepEqual(parseRange(`bytes=${range.start}-${range.end - 1}`, size), range);
    }
  };
  const samples = ['bytes=0-1', 'bytes = 5 - ', 'bytes=-7', 'W/"a", "b"'];
  t.ok(await fuzz({ samples, words: ['bytes', '=', '-', ',', ' '], inputs: INPUTS, longest: 120, check }));
});

void t.test('digests of bodies', async (t) => {
  const check = (input: Buffer): void => {
    const [repr = '', content = '', md5 = ''] = textOf(input).split('\n');
    const headers = { 'repr-digest': repr, 'content-digest': content, 'content-md5': md5 };
    const digests = unlessRefused(() => promisedDigests(headers)) ?? {};
    for (const [name, hex] of Object.entries(digests) as [keyof typeof DIGEST_LENGTHS, string][]) {
      equal(Buffer.from(hex, 'hex').toString('hex'), hex);
      equal(hex.length, 2 * DIGEST_LENGTHS[name]);
    }
  };
  const samples = [`md5=:${MD5}:\nsha-256=:${SHA256}:\n${MD5}`, `x=::, sha-256=:${SHA256}: , md5=:${MD5}:`];
  const words = ['sha-256', 'sha-512', 'md5', '=:', ':', ',', '\n', '__proto__', 'constructor'];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, check }));
});

void t.test('the checksum and the lengths of uploads', async (t) => {
  const check = (input: Buffer): void => {
    const header = textOf(input);
    const octets = unlessRefused(() => parseOctets('Upload-Offset', header));
    ok(octets === undefined || (Number.isSafeInteger(octets) && octets >= 0), String(octets));
    const checksum = unlessRefused(() => parseChecksum(header));
    if (checksum === undefined) return;
    equal(checksum.hex.length, 2 * DIGEST_LENGTHS[checksum.digest]);
    equal(Buffer.from(header.split(' ')[1] ?? '', 'base64').toString('hex'), checksum.hex);
  };
  const samples = [`md5 ${MD5}`, `sha256 ${SHA256}`, '9007199254740991', '0'];
  t.ok(await fuzz({ samples, words: ['sha1', 'sha512', 'md5', ' ', '=='], inputs: INPUTS, check }));
});

void t.test('the metadata of uploads', async (t) => {
  const check = (input: Buffer): void => {
    const metadata = unlessRefused(() => parseMetadata(textOf(input)));
    if (metadata === undefined) return;
    const again = [...metadata].map(([key, text]) => `${key} ${inBase64(text)}`).join(',');
    deepEqual([...parseMetadata(again)], [...metadata]);
    unlessRefused(() => targetOf(metadata));
    unlessRefused(() => promisedByMetadata(metadata));
  };
  const samples = [
    `emulator ${inBase64('qemu')},filename ${inBase64('a.qcow2')},sha256 ${inBase64('ab'.repeat(32))}`,
    `project_id ${inBase64('p')}, node_id ${inBase64('n')}, path ${inBase64('a/b')},is_confidential`,
  ];
  const words = ['emulator', 'filename', 'project_id', 'node_id', 'path', 'md5', '__proto__', ' ', ',', '=='];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, check }));
});

void t.test('Host and Origin', async (t) => {
  const gate = newGate({ host: '127.0.0.1', allowedHosts: ['lab.example'] });
  const isOwn = /^(lab\.example|localhost|127(\.\d{1,3}){3}|\[::1\])$/;
  const check = (input: Buffer): void => {
    const [host = '', origin = ''] = textOf(input).split('\n');
    const isAccepted = unlessRefused(() => {
      gate.checkHost(host);
      return true;
    });
    const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
    if (isAccepted === true && url !== undefined) ok(isOwn.test(url.hostname), `${url.hostname} was let in`);
    const isOurs = unlessRefused(() => {
      gate.checkOrigin({ origin, host, scheme: 'http' });
      return origin !== '';
    });
    if (isOurs === true) ok(isAccepted, 'it is no page of ours');
  };
  const samples = ['localhost:3080\nhttp://localhost:3080', '[::1]:80\nhttp://[::1]:80', 'lab.example\n'];
  const words = ['127.0.0.1', '[::1]', 'localhost', 'lab.example', ':', '@', 'http://', '.', '\n', '[', ']'];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, longest: 200, check }));
});
