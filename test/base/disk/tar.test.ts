/** The archive's headers, as the system's tar reads them. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { TAR_BLOCK, TAR_END, tarHeader, tarPadding } from '../../../src/base/disk/tar.js';
import { scratchFolder } from '../../support/scratch.js';

const MODIFIED = Date.UTC(2026, 10, 21, 12, 30, 15);
const HAS_TAR = spawnSync('tar', ['--version']).status === 0;
const skip = HAS_TAR ? false : 'there is no tar: install the package tar';

function archive(members: readonly (readonly [path: string, content: string])[]): Buffer {
  const parts = members.flatMap(([path, content]) => {
    const { length } = Buffer.from(content);
    const header = tarHeader({ path, size: length, modifiedMs: MODIFIED });
    return [header, Buffer.from(content), Buffer.alloc(tarPadding(length))];
  });
  return Buffer.concat([...parts, Buffer.alloc(TAR_END)]);
}

function tar(input: Uint8Array, ...flags: string[]): string {
  const { status, stdout, stderr } = spawnSync('tar', flags, { input, env: { ...process.env, TZ: 'UTC' } });
  if (status !== 0 || stderr.length > 0) throw new Error(`tar: ${stderr.toString()}`);
  return stdout.toString();
}

void t.test('padding fills whole blocks', (t) => {
  t.same([0, 1, 511, 512, 513, 2 ** 40 + 1].map(tarPadding), [0, 511, 1, 0, 511, 511]);
  t.end();
});

void t.test('tar unpacks what is there, under any name', { skip }, (t) => {
  const members = [
    ['captures/plain.pcap', 'content'],
    ['captures/empty', ''],
    ['captures/größe 大.pcap', 'x'.repeat(512)],
    [`captures/${'n'.repeat(91)}`, 'exactly one hundred'],
    [`captures/${'n'.repeat(92)}`, 'one more'],
    [`captures/${'ü'.repeat(100)}`, 'longer'],
  ] as const;
  const folder = scratchFolder(t);
  tar(archive(members), '-x', '-C', folder);
  for (const [path, content] of members) t.equal(readFileSync(join(folder, path), 'utf8'), content, path);
  t.end();
});

void t.test('tar lists size, time and mode', { skip }, (t) => {
  const listed = tar(archive([['captures/a', 'four']]), '-tv', '--full-time', '--numeric-owner');
  t.match(listed, /^-rw-r--r-- 0\/0 +4 2026-11-21 12:30:15 captures\/a\n$/);
  t.end();
});

void t.test('a file of more than 8 GiB has its size', { skip }, (t) => {
  const size = 2 ** 33 + 5;
  const header = tarHeader({ path: 'large', size, modifiedMs: MODIFIED });
  t.ok(header.length > TAR_BLOCK);
  // The content does not follow, so the archive is cut short; its first member is listed all the same.
  const { stdout } = spawnSync('tar', ['-tv'], { input: header });
  t.match(stdout.toString(), `${size}`);
  t.end();
});
