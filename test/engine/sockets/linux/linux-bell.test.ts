import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { LinuxBell } from '../../../../src/engine/sockets/linux/linux-bell.js';
import { libc } from '../../../../src/engine/sockets/linux/libc.js';
import { NativeMemory } from '../../../../src/engine/sockets/linux/native-memory.js';
import { scratchFolder } from '../../../support/scratch.js';

void t.test('rings add up until somebody listens', (t) => {
  const bell = new LinuxBell();
  const heard = new NativeMemory(8);
  const listen = (): number => libc.read(bell.newListener().event, heard.address, 8);
  t.equal(listen(), -1, 'nothing is heard before it rings');
  for (let rings = 0; rings < 3; rings++) bell.ring();
  t.equal(listen(), 8);
  t.equal(heard.words[0], 3);
  t.equal(listen(), -1);
  bell.close();
  t.end();
});

void t.test('a bell that is closed rings nowhere, whoever has its descriptors now', (t) => {
  const bell = new LinuxBell();
  bell.close();
  t.throws(() => fstatSync(bell.newListener().event), { code: 'EBADF' });
  t.throws(() => fstatSync(bell.newListener().epoll), { code: 'EBADF' });
  const file = join(scratchFolder(t), 'precious');
  const descriptors = [openSync(file, 'w'), openSync(file, 'w')];
  t.ok(descriptors.includes(bell.newListener().event), 'somebody has it now');
  bell.ring();
  bell.close();
  t.equal(readFileSync(file, 'utf8'), '');
  for (const descriptor of descriptors) {
    t.doesNotThrow(() => {
      closeSync(descriptor);
    }, 'and keeps it');
  }
  t.end();
});
