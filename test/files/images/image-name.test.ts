import t from 'tap';
import { EMULATORS, IMAGE_FOLDERS, imageName, isEmulator } from '../../../src/files/images/image-name.js';

void t.test('names that are usual, odd, or spelt in a roundabout way', (t) => {
  for (const [given, name] of [
    ['debian.qcow2', 'debian.qcow2'],
    ['sub/x.img', 'sub/x.img'],
    ['sub\\x.img', 'sub/x.img'],
    ['a//b/./c', 'a/b/c'],
    ['a/../b', 'b'],
    ['a/..\\b', 'b'],
    ['folder/', 'folder'],
    ['.hidden/../shown', 'shown'],
    ['name with spaces.img', 'name with spaces.img'],
    ['Bäume ♞ 日本.img', 'Bäume ♞ 日本.img'],
    ['what?#&+.img', 'what?#&+.img'],
    ['100%.img', '100%.img'],
    ['100%25.img', '100%25.img'],
    ['a%2fb', 'a%2fb'],
    ['%zz', '%zz'],
    ['x..', 'x..'],
    ['md5sum', 'md5sum'],
    ['x.md5sum.img', 'x.md5sum.img'],
    ['c:x', 'c:x'],
    ['a/b/c/d/e/f/g/h/i', 'a/b/c/d/e/f/g/h/i'],
    ['n'.repeat(255), 'n'.repeat(255)],
  ] as const)
    t.equal(imageName(given, 'write'), name, given);
  t.end();
});

/** However they are spelt, they would leave the folder, or could with a server that decodes once more. */
const LEAVING = [
  '..',
  '../x',
  '../../etc/passwd',
  '../QEMU_evil/x',
  '../QEMU/x',
  'a/../../x',
  'a/b/../../../x',
  '..\\x',
  'a\\..\\..\\x',
  '/etc/passwd',
  '//x',
  '\\\\host\\x',
  'C:\\x',
  'c:/x',
  'a\0b',
  '\0',
  '%2e%2e/x',
  '%2E%2E%2Fx',
  '..%2fx',
  '..%5cx',
  'a/%2e%2e/%2e%2e/x',
  'a%2f..%2f..%2fx',
  '%2fetc%2fpasswd',
  '%5c%5chost',
  'x%00.img',
  '%252e%252e%252fx',
  '%25252e%25252e%25252fx',
  'x%2500',
  `%${'25'.repeat(100)}2e`,
  'C%3a%5cx',
];

void t.test('names that would leave the folder', (t) => {
  for (const given of LEAVING) {
    t.throws(() => imageName(given, 'write'), {
      status: 403,
      message: /^Could not write image: .*, it would leave the images folder$/s,
    });
    t.throws(() => imageName(given, 'delete'), { status: 403, message: /^Could not delete image/ }, given);
  }
  t.end();
});

void t.test('impossible names are refused', (t) => {
  for (const [given, reason] of [
    ['', /empty/],
    ['.', /empty/],
    ['./', /empty/],
    ['a/..', /empty/],
    ['.hidden', /dot/],
    ['a/.hidden/b', /dot/],
    ['...', /dot/],
    ['x.img.md5sum', /written by the server/],
    ['x.md5sum/y', /written by the server/],
    ['x.img.tmp', /unfinished/],
    ['n'.repeat(256), /255 bytes/],
    ['ä'.repeat(128), /255 bytes/],
    [`${'n'.repeat(200)}/`.repeat(6), /1024 bytes/],
    ['a/b/c/d/e/f/g/h/i/j', /8 folders/],
  ] as const)
    t.throws(() => imageName(given, 'read'), { status: 400, message: reason }, given);
  t.end();
});

void t.test('a refusal of a long name is short', (t) => {
  for (const given of ['n'.repeat(1e6), `../${'n'.repeat(1000)}`])
    t.throws(() => imageName(given, 'write'), { message: /^.{1,400}$/s });
  t.end();
});

void t.test('every emulator has a folder of its own', (t) => {
  t.same(
    EMULATORS.map((emulator) => IMAGE_FOLDERS[emulator]),
    ['QEMU', 'IOU', 'IOS'],
  );
  t.ok(isEmulator('iou'));
  for (const other of ['docker', 'QEMU', '', 'constructor']) t.notOk(isEmulator(other), other);
  t.end();
});
