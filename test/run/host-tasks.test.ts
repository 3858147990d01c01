import { mkdirSync, symlinkSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { hostTasks } from '../../src/run/host-tasks.js';
import { refusals } from '../../src/base/errors/errors.js';
import { scratchFolder } from '../support/scratch.js';

void t.test('every interface of the host is found once, by name, with its first IPv4 address', (t) => {
  const found = hostTasks.findInterfaces(undefined);
  const names = found.map(({ name }) => name);
  t.same(names, [...new Set(names)].sort());
  for (const [name, addresses = []] of Object.entries(networkInterfaces())) {
    const first = addresses.find(({ family }) => family === 'IPv4');
    t.match(
      found.find((known) => known.name === name),
      { isUp: true, address: first?.address ?? '', netmask: first?.netmask ?? '' },
    );
  }
  t.end();
});

void t.test('a socket may lie in the folder of the project and nowhere else', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'sub'));
  symlinkSync('/etc', join(folder, 'out'));
  const place = (path: string): string => hostTasks.placeSocketFile({ folder, path });
  t.equal(place('a.sock'), join(folder, 'a.sock'));
  t.equal(place('sub/a.sock'), join(folder, 'sub', 'a.sock'));
  t.equal(place(join(folder, 'a.sock')), join(folder, 'a.sock'));
  const temporary = join(tmpdir(), 'wirefarm-test.sock');
  for (const path of [
    temporary,
    '/etc/x.sock',
    '/run/x.sock',
    'out/x.sock',
    '../../etc/x',
    '/tmp/../etc/x',
    'a\0b',
  ]) {
    t.throws(() => place(path), refusals.fileForbidden(), path);
  }
  t.end();
});

void t.test('a program is there when the host has it where the keeper looks', (t) => {
  t.ok(hostTasks.hasProgram({ name: 'sh' }));
  t.notOk(hostTasks.hasProgram({ name: 'no-such-program' }));
  t.end();
});
