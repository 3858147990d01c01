/** The units of systemd in the package: systemd takes all of them, and what they start is there. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { scratchFolder } from '../support/scratch.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** The unit of each, and the command that it starts. */
const UNITS = { 'wirefarm.service': 'serve', 'wirefarm-keeper.service': 'keeper' };
const unitOf = (name: string): string => read(`packaging/${name}`);
const programOf = (name: string, command: string): string =>
  new RegExp(`^ExecStart=(\\S+) ${command}$`, 'm').exec(unitOf(name))?.[1] ?? '';
const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;

void t.test('systemd has no complaint', { skip: isThere ? false : 'systemd-analyze is missing' }, (t) => {
  const folder = scratchFolder(t);
  const files = Object.entries(UNITS).map(([name, command]) => {
    const file = join(folder, name);
    // The package is not installed here.
    writeFileSync(file, unitOf(name).replace(programOf(name, command), process.execPath));
    return file;
  });
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
    encoding: 'utf8',
  });
  const own = (stdout + stderr).split('\n').filter((line) => line.includes('wirefarm'));
  t.same([status, own], [0, []]);
  t.end();
});

void t.test('the package has the units, and they start the program where the documents put it', (t) => {
  const { bin, files } = JSON.parse(read('package.json')) as { bin: { wirefarm: string }; files: string[] };
  t.ok(files.includes('packaging/'));
  for (const [name, command] of Object.entries(UNITS)) {
    const program = programOf(name, command);
    t.equal(program, join('/opt/wirefarm', bin.wirefarm), name);
    t.match(read('docs/reference/installing.md'), `${program} serve`);
    t.match(read('docs/reference/installing.md'), name);
  }
  t.end();
});

void t.test('both units read the same settings, as the same user', (t) => {
  const shared = /^(Environment=WIREFARM_DATA=\S+|EnvironmentFile|User|Group|StateDirectory)\b.*$/gm;
  const [server, keeper] = Object.keys(UNITS).map((name) =>
    [...unitOf(name).matchAll(shared)].map(([line, word]) => (line.startsWith('Environment=') ? word : line)),
  );
  t.same(server, keeper);
  t.equal(server?.length, 5);
  t.end();
});
