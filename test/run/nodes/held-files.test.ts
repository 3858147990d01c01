/** The nodes of a lab stand still while their files are kept, as far as they can. */
import t from 'tap';
import { holdFiles } from '../../../src/run/nodes/held-nodes.js';
import type { NodeStatus } from '../../../src/lab/lab-run.js';
import type { RunMemory } from '../../../src/run/nodes/machine.js';

const told: string[] = [];

type Pause = 'pauses' | 'dies' | 'cannot';

function memoryOf(name: string, pause: Pause): RunMemory | undefined {
  if (pause === 'cannot') return undefined;
  return {
    estimate: () => Promise.resolve({ bytes: 0 }),
    pause: () => {
      told.push(`${name} pauses`);
      return pause === 'dies' ? Promise.reject(new Error('it died')) : Promise.resolve();
    },
    save: () => Promise.reject(new Error('no memory is to be saved')),
    resume: () => {
      told.push(`${name} goes on`);
      return Promise.resolve();
    },
  };
}

function node(name: string, status: NodeStatus, pause: Pause): Parameters<typeof holdFiles>[0][number] {
  return {
    planHold: () => Promise.reject(new Error('nothing is planned')),
    hold: () =>
      Promise.resolve({
        ...{ id: name, name, status, folder: `files/${name}`, memory: memoryOf(name, pause) },
        release: () => {
          told.push(`${name} is released`);
        },
      }),
  };
}

void t.test('guests are held, and those that cannot be are named', async (t) => {
  const held = await holdFiles([
    node('guest', 'started', 'pauses'),
    node('sleeper', 'suspended', 'pauses'),
    node('dying', 'started', 'dies'),
    node('container', 'started', 'cannot'),
    node('stopped', 'stopped', 'cannot'),
  ]);
  t.same(
    held.running.map(({ name, isHeld }) => [name, isHeld]),
    [
      ['guest', true],
      ['sleeper', true],
      ['dying', false],
      ['container', false],
    ],
  );
  t.same(held.folders, ['files/guest', 'files/sleeper', 'files/dying', 'files/container']);
  t.same(told.splice(0), ['guest pauses', 'sleeper pauses', 'dying pauses']);
  await held.release();
  t.same(told.splice(0), [
    'guest goes on',
    ...['guest', 'sleeper', 'dying', 'container', 'stopped'].map((name) => `${name} is released`),
  ]);
});
