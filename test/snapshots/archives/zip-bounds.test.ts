import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { archiveRange } from '../../../src/snapshots/archives/zip-bounds.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { plainArchive, zipArchive } from '../../support/zip-archives.js';
import { archiveReader } from '../../support/zip-reading.js';

const BOUNDARY = '----WebKitFormBoundaryAbCd0123';
const END = `\r\n--${BOUNDARY}--\r\n`;

interface Part {
  readonly headers: string;
  readonly content: string | Uint8Array;
}

const file = (content: string | Uint8Array): Part => ({
  headers:
    'Content-Disposition: form-data; name="file"; filename="a b.gns3project"\r\nContent-Type: application/zip',
  content,
});
const field = (content: string): Part => ({
  headers: 'Content-Disposition: form-data; name="name"',
  content,
});

function form(parts: readonly Part[], end = END): Buffer {
  const pieces = parts.flatMap(({ headers, content }, index) => [
    Buffer.from(`${index === 0 ? '' : '\r\n'}--${BOUNDARY}\r\n${headers}\r\n\r\n`),
    Buffer.from(content),
  ]);
  return Buffer.concat([...pieces, Buffer.from(end)]);
}

function partOf(t: Teardown, body: Uint8Array): Buffer {
  const path = join(scratchFolder(t), 'body');
  writeFileSync(path, body);
  const fd = openSync(path, 'r');
  try {
    const { start, end } = archiveRange(fd, body.length);
    return Buffer.from(body.subarray(start, end));
  } finally {
    closeSync(fd);
  }
}

const ARCHIVE = plainArchive({ 'project.gns3': 'topology', disk: new RandomBytes(3).next(200_000) });

void t.test('a body that is no form is the archive', (t) => {
  for (const body of [
    ARCHIVE,
    Buffer.from('--'),
    Buffer.alloc(0),
    Buffer.from('--x\n\n--x--'),
    Buffer.from('PK'),
  ]) {
    t.ok(partOf(t, body).equals(body), JSON.stringify(body.subarray(0, 10).toString('latin1')));
  }
  t.end();
});

void t.test('the file of a form', (t) => {
  const bodies = {
    alone: [file(ARCHIVE)],
    'behind a field': [field('x'), field(''), file(ARCHIVE)],
    'before a field': [file(ARCHIVE), field('x'), field('x'.repeat(30_000))],
    'without a name of its own': [field('x'), { headers: 'X-Other: y', content: ARCHIVE }],
    'the first of two': [file(ARCHIVE), file('second')],
  };
  for (const [what, parts] of Object.entries(bodies)) t.ok(partOf(t, form(parts)).equals(ARCHIVE), what);
  t.ok(
    partOf(t, form([file(ARCHIVE)], `\r\n--${BOUNDARY}--`)).equals(ARCHIVE),
    'without the last line break',
  );
  t.ok(partOf(t, form([file(ARCHIVE)], '')).equals(ARCHIVE), 'without an end');
  t.ok(partOf(t, form([file('')])).equals(Buffer.alloc(0)), 'of no bytes');
  t.end();
});

void t.test('content that looks like a delimiter', async (t) => {
  const read = archiveReader(t);
  const lookalike = `a\r\n--${BOUNDARY}--\r\n\r\n--${BOUNDARY}\r\n\r\nPK\r\n--${BOUNDARY}`;
  const nested = plainArchive({ nested: lookalike });
  const archive = zipArchive([
    { name: 'a', content: lookalike },
    { name: 'b', content: lookalike.repeat(20) },
    { name: 'c', content: nested },
    { name: 'd', content: `${lookalike}\r\n--` },
  ]);
  for (const body of [form([file(archive)]), form([field('x'), file(archive), field(lookalike)])]) {
    t.ok(partOf(t, body).equals(archive));
    t.equal((await read(body)).content['a']?.toString(), lookalike);
  }
  const inComment = zipArchive([{ name: 'a' }], { comment: lookalike });
  t.ok(partOf(t, form([file(inComment)])).equals(inComment));
});

void t.test('heads that are too long, or never end', (t) => {
  const long = (length: number): Buffer =>
    form([{ headers: `Content-Disposition: form-data; filename="${'x'.repeat(length)}"`, content: ARCHIVE }]);
  t.ok(partOf(t, long(15_000)).equals(ARCHIVE));
  t.ok(partOf(t, long(17_000)).equals(long(17_000)));
  for (const body of [
    `--${BOUNDARY}\r\nX: y`,
    `--${BOUNDARY}\r\nX: y\r\n\r\nfield without an end`,
    form([field('x')]),
  ]) {
    t.ok(partOf(t, Buffer.from(body)).equals(Buffer.from(body)));
  }
  const many = form([...Array.from({ length: 150 }, () => field('x')), file(ARCHIVE)]);
  t.ok(partOf(t, many).equals(many), 'too many fields');
  t.end();
});
