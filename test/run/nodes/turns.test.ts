import t from 'tap';
import { Turns } from '../../../src/run/nodes/turns.js';

void t.test('one thing runs after the other, whatever became of the one before', async (t) => {
  const turns = new Turns();
  const log: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const results = await Promise.allSettled([
    turns.take(work('a')),
    turns.take(work('b', true)),
    turns.take(work('c')),
  ]);
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.same(log, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

void t.test('work that throws at once is refused like any other', async (t) => {
  const turns = new Turns();
  await t.rejects(
    turns.take(() => {
      throw new Error('at once');
    }),
    { message: 'at once' },
  );
  t.equal(await turns.take(() => Promise.resolve(1)), 1);
});

void t.test('not everything may wait', async (t) => {
  const turns = new Turns();
  let release: () => void = () => undefined;
  const first = turns.take(() => new Promise<void>((resolve) => (release = resolve)));
  const waiting = Array.from({ length: 999 }, () => turns.take(() => Promise.resolve()));
  await t.rejects(
    turns.take(() => Promise.resolve()),
    { status: 503, message: /try again/ },
  );
  const last = turns.takeSurely(() => Promise.resolve('last'));
  release();
  t.equal(await last, 'last');
  await Promise.all([first, ...waiting]);
  await turns.take(() => Promise.resolve());
});
