/** Few at once of the work of many, in turns of their owners. */
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { FairTurns } from '../../../src/base/threads/fair-turns.js';

class Works {
  /** The starts, in their order. */
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly turns: FairTurns;

  constructor(atOnce: number, mostWaiting = 100, mostWaitingOfOne = 50, atOnceOfOne = 1) {
    this.turns = new FairTurns({ atOnce, mostWaiting, mostWaitingOfOne, atOnceOfOne });
  }

  take(owner: string, name: string, error?: Error): Promise<string> {
    return this.turns.run(owner, async () => {
      this.started.push(name);
      await new Promise<void>((resolve) => {
        this.#ends.set(name, resolve);
      });
      if (error !== undefined) throw error;
      return name;
    });
  }

  /** Ends what was started first and still runs. */
  async endFirst(): Promise<void> {
    const [first] = this.#ends;
    if (first === undefined) throw new Error('nothing runs');
    this.#ends.delete(first[0]);
    first[1]();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  get running(): number {
    return this.#ends.size;
  }
}

void t.test('an owner that comes waits for one work of each other owner at most', async (t) => {
  const works = new Works(2);
  const all = [1, 2, 3, 4, 5].flatMap((index) =>
    ['a', 'b', 'c'].map((owner) => works.take(owner, `${owner}${index}`)),
  );
  const late = works.take('d', 'd1');
  await Promise.resolve();
  t.same(works.started, ['a1', 'b1'], 'two at once');
  let most = works.running;
  while (works.running > 0) {
    await works.endFirst();
    most = Math.max(most, works.running);
  }
  t.equal(most, 2);
  const before = works.started.slice(2, works.started.indexOf('d1'));
  t.ok(before.length <= 3, `it waited for ${before.join(' ')}`);
  t.equal(new Set(before.map(([owner]) => owner)).size, before.length, 'and never for two of one');
  for (const owner of ['a', 'b', 'c']) {
    const own = works.started.filter((name) => name.startsWith(owner));
    t.same(own, [...own].sort(), 'each in its order');
  }
  t.equal((await Promise.all(all)).length, 15);
  t.equal(await late, 'd1');
});

void t.test('one work of an owner runs at a time, and a failure concerns no other', async (t) => {
  const works = new Works(4);
  const failing = works.take('a', 'first', new Error('it failed'));
  const next = works.take('a', 'second');
  await Promise.resolve();
  t.same(works.started, ['first']);
  const failed = t.rejects(failing, /it failed/);
  await works.endFirst();
  await failed;
  t.same(works.started, ['first', 'second']);
  await works.endFirst();
  t.equal(await next, 'second');
});

void t.test('waiting work has limits, for one owner and for all', async (t) => {
  const works = new Works(1, 3, 2);
  const all = [works.take('a', 'a1'), works.take('a', 'a2'), works.take('a', 'a3')];
  await t.rejects(works.take('a', 'a4'), refusals.tooBusy());
  all.push(works.take('b', 'b1'));
  await t.rejects(works.take('c', 'c1'), refusals.tooBusy());
  while (works.running > 0) await works.endFirst();
  t.same(
    works.started,
    ['a1', 'b1', 'a2', 'a3'].toSorted((x, y) => works.started.indexOf(x) - works.started.indexOf(y)),
  );
  t.equal((await Promise.all(all)).length, 4);
  const again = works.take('c', 'c1');
  await Promise.resolve();
  await works.endFirst();
  t.equal(await again, 'c1');
});

void t.test('closing refuses what waits and what comes', async (t) => {
  const works = new Works(1);
  const running = works.take('a', 'a1');
  const waiting = works.take('b', 'b1');
  works.turns.close();
  await t.rejects(waiting, refusals.stopping());
  await t.rejects(works.take('a', 'a2'), refusals.stopping());
  await works.endFirst();
  t.equal(await running, 'a1');
  t.same(works.started, ['a1']);
});

void t.test(
  'as many works of one owner run at once as it may have, and others still get their turns',
  async (t) => {
    const works = new Works(3, 100, 50, 2);
    const all = [1, 2, 3, 4].map((index) => works.take('a', `a${index}`));
    await Promise.resolve();
    t.same(works.started, ['a1', 'a2'], 'the third place is for others');
    all.push(works.take('b', 'b1'));
    await Promise.resolve();
    t.same(works.started, ['a1', 'a2', 'b1']);
    while (works.started.length < 5) await works.endFirst();
    t.same(works.started, ['a1', 'a2', 'b1', 'a3', 'a4']);
    while (works.running > 0) await works.endFirst();
    await Promise.all(all);
  },
);
