import t from 'tap';
import { promisedDigests, targetOf } from '../../../src/files/uploads/upload-request.js';

const target = (entries: Record<string, string>): unknown => targetOf(new Map(Object.entries(entries)));

void t.test('an image, or a file of a node', (t) => {
  t.same(target({ emulator: 'qemu', filename: 'sub/a.img', filetype: 'x' }), {
    emulator: 'qemu',
    filename: 'sub/a.img',
  });
  const node = { project_id: 'p', node_id: 'n' };
  t.same(target({ ...node, path: 'a/b', filename: 'c' }), { ...node, path: 'a/b' });
  t.same(
    target({ ...node, filename: 'c' }),
    { ...node, path: 'c' },
    'the name is the path when there is none',
  );
  t.end();
});

void t.test('an upload that names neither an image nor a file is refused', (t) => {
  for (const entries of [
    {},
    { filename: 'a' },
    { emulator: 'qemu' },
    { emulator: 'docker', filename: 'a' },
    { emulator: 'qemu', filename: '' },
    { emulator: 'qemu', filename: 'a'.repeat(4097) },
    { emulator: 'qemu', filename: 'a', project_id: 'p' },
    { project_id: 'p', filename: 'a' },
    { project_id: 'p', node_id: 'n' },
  ])
    t.throws(() => target(entries), { status: 400, message: /./ }, JSON.stringify(entries));
  t.end();
});

void t.test('promised digests are hexadecimal, in either case', (t) => {
  const digests = (entries: Record<string, string>): unknown =>
    promisedDigests(new Map(Object.entries(entries)));
  t.same(digests({ other: 'x', constructor: 'x' }), {});
  t.same(digests({ sha256: 'A'.repeat(64), md5: '0'.repeat(32) }), {
    'sha-256': 'a'.repeat(64),
    md5: '0'.repeat(32),
  });
  for (const entries of [{ sha256: 'a'.repeat(63) }, { sha256: 'g'.repeat(64) }, { md5: '' }])
    t.throws(() => digests(entries), { status: 400, message: /./ });
  t.end();
});
