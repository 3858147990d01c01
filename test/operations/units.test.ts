/** The unit of systemd in the package: systemd takes all of it, and the server does what it relies on. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { scratchFolder } from '../support/scratch.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const unit = read('packaging/wirefarm.service');
const [, program = ''] = /^ExecStart=(\S+) serve$/m.exec(unit) ?? [];
const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;

void t.test('systemd has no complaint', { skip: isThere ? false : 'systemd-analyze is missing' }, (t) => {
  const file = join(scratchFolder(t), 'wirefarm.service');
  // The package is not installed here.
  writeFileSync(file, unit.replace(program, process.execPath));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
  });
  const own = (stdout + stderr).split('\n').filter((line) => line.includes('wirefarm'));
  t.same([status, own], [0, []]);
  t.end();
});

void t.test('the package has the unit, and the unit starts the program where the documents put it', (t) => {
  const { bin, files } = JSON.parse(read('package.json')) as { bin: { wirefarm: string }; files: string[] };
  t.ok(files.includes('packaging/'));
  t.equal(program, join('/opt/wirefarm', bin.wirefarm));
  t.match(read('docs/reference/installing.md'), `${program} serve`);
  t.end();
});
