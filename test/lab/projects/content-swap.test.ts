import t from 'tap';
import { FolderGate } from '../../../src/lab/projects/content-swap.js';

/** Work that lasts until it is let go, and tells of its beginning and its end. */
function held(log: string[], name: string): { work: () => Promise<string>; letGo: () => void } {
  let letGo = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return {
    work: async () => {
      log.push(`+${name}`);
      await released;
      log.push(`-${name}`);
      return name;
    },
    letGo: () => {
      letGo();
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

void t.test('writers write at once', async (t) => {
  const gate = new FolderGate();
  const log: string[] = [];
  const [a, b] = [held(log, 'a'), held(log, 'b')];
  const writing = Promise.all([gate.pass(a.work), gate.pass(b.work)]);
  await turn();
  t.same(log, ['+a', '+b']);
  b.letGo();
  a.letGo();
  t.same(await writing, ['a', 'b']);
});

void t.test(
  'a task that needs the folder alone waits for writers, and later writers wait for it',
  async (t) => {
    const gate = new FolderGate();
    const log: string[] = [];
    const [early, other, alone, late] = [
      held(log, 'early'),
      held(log, 'other'),
      held(log, 'alone'),
      held(log, 'late'),
    ];
    const all = [gate.pass(early.work), gate.pass(other.work), gate.alone(alone.work), gate.pass(late.work)];
    late.letGo();
    early.letGo();
    await turn();
    t.same(log, ['+early', '+other', '-early'], 'one writer is left');
    other.letGo();
    await turn();
    t.same(log.slice(3), ['-other', '+alone']);
    alone.letGo();
    t.same(await Promise.all(all), ['early', 'other', 'alone', 'late']);
    t.same(log.slice(5), ['-alone', '+late', '-late']);
  },
);

void t.test('only one has the folder alone', async (t) => {
  const gate = new FolderGate();
  const log: string[] = [];
  const works = ['a', 'b', 'c'].map((name) => held(log, name));
  const all = Promise.all(works.map(({ work }) => gate.alone(work)));
  for (const { letGo } of works.toReversed()) letGo();
  t.same(await all, ['a', 'b', 'c']);
  t.same(log, ['+a', '-a', '+b', '-b', '+c', '-c']);
});

void t.test('a failing task lets others go on', async (t) => {
  const gate = new FolderGate();
  const fail = (): Promise<never> => Promise.reject(new Error('failed'));
  const failures = [gate.pass(fail), gate.alone(fail), gate.alone(fail), gate.pass(fail)];
  for (const failure of failures) await t.rejects(failure, { message: 'failed' });
  t.equal(await gate.alone(() => Promise.resolve(1)), 1);
  t.equal(await gate.pass(() => Promise.resolve(2)), 2);
});
