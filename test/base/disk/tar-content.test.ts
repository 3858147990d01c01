import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { TarContent, type MemberHeader } from '../../../src/base/disk/tar-content.js';

let position = 0;

function header(name: string, given: Partial<MemberHeader> = {}): MemberHeader {
  position += 1024;
  return {
    name,
    size: 5,
    mode: 0o644,
    mtime: new Date(0),
    type: name.endsWith('/') ? 'directory' : 'file',
    linkname: '',
    uid: 0,
    gid: 0,
    uname: '',
    gname: '',
    devmajor: 0,
    devminor: 0,
    byteOffset: position,
    pax: null,
    ...given,
  };
}

function contentOf(...members: readonly (string | MemberHeader)[]): TarContent {
  const content = new TarContent();
  for (const member of members) content.add(typeof member === 'string' ? header(member) : member);
  return content;
}

void t.test('folders come before what is in them, whether they are members or not', (t) => {
  const content = contentOf('a/b/c/file', 'x/', './a/other', 'a/b/', './');
  t.same([...content.folders], ['a', 'a/b', 'a/b/c', 'x']);
  t.same([...content.files.keys()], ['a/b/c/file', 'a/other']);
  t.end();
});

void t.test('the last of several files of one name counts', (t) => {
  const content = contentOf(header('a', { size: 1 }), header('a', { size: 2, byteOffset: 77, mode: 0o755 }));
  t.same([...content.files], [['a', { position: 77, size: 2, isExecutable: true }]]);
  t.equal(content.end, 79);
  t.end();
});

void t.test('a path that would be both a file and a folder is refused', (t) => {
  for (const members of [
    ['a', 'a/b'],
    ['a/b', 'a'],
    ['a/', 'a'],
    ['a', 'a/'],
    ['a/b', 'a/b/c/d'],
  ])
    t.throws(() => contentOf(...members), { status: 409, message: /member/ }, members.join(' '));
  t.end();
});

void t.test('names that lead elsewhere, and members that are no files', (t) => {
  for (const name of [
    '',
    '/a',
    '..',
    '../a',
    'a/..',
    'a/../b',
    'a\0b',
    'a\ufffd',
    'x'.repeat(256),
    'x/'.repeat(2049),
  ])
    t.throws(() => contentOf(name), { status: 409, message: /member/ }, name.slice(0, 20));
  t.doesNotThrow(() => contentOf('x'.repeat(255), 'y/'.repeat(2048), '..a', 'a\\..\\b', '.hidden'));
  for (const type of ['link', 'symlink', 'fifo', 'block-device', 'character-device', null] as const)
    t.throws(() => contentOf(header('a', { type })), { status: 409, message: /only files and folders/ });
  t.throws(() => contentOf(header('a', { pax: { 'GNU.sparse.map': '0,1' } })), { message: /sparse/ });
  t.doesNotThrow(() => contentOf(header('a', { type: 'contiguous-file', pax: { mtime: '1.5' } })));
  t.end();
});

void t.test('there are bounds to how much of it there is', (t) => {
  const full = new TarContent();
  for (let count = 0; count < 100_000; count++) full.add(header(String(count)));
  const tooMany = refusals.tooMany('files and folders in this archive', 100_000);
  t.throws(() => {
    full.add(header('more'));
  }, tooMany);
  t.doesNotThrow(() => {
    full.add(header('5'));
  }, 'nothing new');
  const deep = new TarContent();
  t.throws(
    () => {
      for (let count = 0; count < 100; count++) deep.add(header(`${count}/${'d/'.repeat(2000)}`));
    },
    { status: 409, message: /too many/ },
  );
  t.end();
});
