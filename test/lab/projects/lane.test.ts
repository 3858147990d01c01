import t from 'tap';
import { Refusal } from '../../../src/base/errors/errors.js';
import { Lane } from '../../../src/lab/projects/lane.js';
import type { Transaction } from '../../../src/lab/projects/transaction.js';
import { FakeStore } from '../../support/fake-store.js';

/** Work that stores one record, and tells when it is undone and published. */
function recording(name: string, log: string[]): (transaction: Transaction) => string {
  return (transaction) => {
    log.push(`did ${name}`);
    transaction.store({ put: [name], value: name });
    transaction.onUndo(() => log.push(`undid ${name}`));
    transaction.onStored(() => log.push(`told ${name}`));
    return name;
  };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
const isRefusal = (status: number): { name: string; status: number } => ({ name: 'Refusal', status });

/** Resolves once the lane has begun the work before the promise's. */
function begun(lane: Lane): { started: Promise<void>; release: () => void; done: Promise<void> } {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let start: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const done = lane.exclusively(async () => {
    start();
    await released;
  });
  return { started, release, done };
}

void t.test('answers a change with what its work returned, after it is stored', async (t) => {
  const store = new FakeStore();
  const release = store.pause();
  const lane = new Lane(store);
  const log: string[] = [];
  const answer = lane.change(recording('a', log)).then((result) => {
    log.push(`answered ${result}`);
    return result;
  });
  await new Promise(setImmediate);
  t.same(log, ['did a'], 'neither told nor answered before the commit');
  release();
  t.equal(await answer, 'a');
  t.same(log, ['did a', 'told a', 'answered a']);
  t.same(store.commits, [[{ put: ['a'], value: 'a' }]]);
});

void t.test('carries out changes in the order in which they came', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  const log: string[] = [];
  const answers: string[] = [];
  await Promise.all(
    names(40).map(async (name) => {
      answers.push(await lane.change(recording(name, log)));
    }),
  );
  t.same(
    log.filter((line) => line.startsWith('did')),
    names(40).map((name) => `did ${name}`),
  );
  t.same(
    log.filter((line) => line.startsWith('told')),
    names(40).map((name) => `told ${name}`),
  );
  t.same(answers, names(40));
  t.same(
    store.commits.flat(),
    names(40).map((name) => ({ put: [name], value: name })),
  );
});

void t.test('requests that arrive together share one commit', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  await Promise.all(names(100).map((name) => lane.change(recording(name, []))));
  t.equal(store.commits.length, 1);
});

void t.test('a commit has only the last change of each record', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  const put = (name: string, value: number): Promise<void> =>
    lane.change((transaction) => {
      transaction.store({ put: [name], value });
    });
  const remove = (name: string): Promise<void> =>
    lane.change((transaction) => {
      transaction.store({ remove: [name] });
    });
  await Promise.all([
    put('a', 1),
    put('b', 1),
    put('a', 2),
    remove('c'),
    put('c', 1),
    put('b', 2),
    remove('b'),
  ]);
  t.same(store.commits, [[{ put: ['a'], value: 2 }, { put: ['c'], value: 1 }, { remove: ['b'] }]]);
});

void t.test('requests that arrive during a commit share the next one', async (t) => {
  const store = new FakeStore();
  const release = store.pause();
  const lane = new Lane(store);
  const log: string[] = [];
  const first = lane.change(recording('first', log));
  await new Promise(setImmediate);
  const later = names(100).map((name) => lane.change(recording(name, log)));
  await new Promise(setImmediate);
  t.same(log, ['did first'], 'what came later has not begun');
  release();
  await Promise.all([first, ...later]);
  t.same(
    store.commits.map((changes) => changes.length),
    [1, 100],
  );
});

void t.test('a commit holds a bounded number of requests', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  await Promise.all(names(600).map((name) => lane.change(recording(name, []))));
  t.same(
    store.commits.map((changes) => changes.length),
    [256, 256, 88],
  );
});

void t.test('a change that stores nothing makes no commit and is told', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  const told: string[] = [];
  await lane.change((transaction) => {
    transaction.onStored(() => told.push('told'));
  });
  t.same(told, ['told']);
  t.same(store.commits, []);
});

void t.test('a request that fails leaves no trace, and the others of its commit succeed', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  const log: string[] = [];
  const before = lane.change(recording('before', log));
  const failing = lane.change((transaction) => {
    recording('half', log)(transaction);
    recording('other half', log)(transaction);
    throw new Refusal(409, 'no', 'no');
  });
  const after = lane.change(recording('after', log));
  await t.rejects(failing, new Refusal(409, 'no', 'no'));
  t.same(await Promise.all([before, after]), ['before', 'after']);
  t.same(log, [
    'did before',
    'did half',
    'did other half',
    'undid other half',
    'undid half',
    'did after',
    'told before',
    'told after',
  ]);
  t.same(store.commits, [
    [
      { put: ['before'], value: 'before' },
      { put: ['after'], value: 'after' },
    ],
  ]);
});

void t.test('a failing commit rejects all of it, undoes in reverse and tells nobody', async (t) => {
  const store = new FakeStore();
  store.failure = new Refusal(507, 'disk_full', 'full');
  const lane = new Lane(store);
  const log: string[] = [];
  const answers = await Promise.allSettled(['a', 'b', 'c'].map((name) => lane.change(recording(name, log))));
  t.same(
    answers.map((answer) => (answer.status === 'rejected' ? (answer.reason as Refusal).status : answer)),
    [507, 507, 507],
  );
  t.same(log, ['did a', 'did b', 'did c', 'undid c', 'undid b', 'undid a']);
  t.same(store.commits, []);
});

void t.test('works again after a failing commit', async (t) => {
  const store = new FakeStore();
  store.failure = new Refusal(507, 'disk_full', 'full');
  const lane = new Lane(store);
  await t.rejects(lane.change(recording('a', [])), isRefusal(507));
  store.failure = undefined;
  t.equal(await lane.change(recording('b', [])), 'b');
  t.same(store.commits, [[{ put: ['b'], value: 'b' }]]);
});

void t.test('requests of one commit see the working state that the earlier ones left', async (t) => {
  const lane = new Lane(new FakeStore());
  let count = 0;
  const increment = (transaction: Transaction): number => {
    const before = count;
    count++;
    transaction.store({ put: ['count'], value: count });
    transaction.onUndo(() => {
      count = before;
    });
    return count;
  };
  const answers = [
    lane.change(increment),
    lane.change((transaction) => {
      increment(transaction);
      throw new Error('no');
    }),
    lane.change(increment),
  ];
  t.same(
    (await Promise.allSettled(answers)).map((answer) => answer.status === 'fulfilled' && answer.value),
    [1, false, 2],
  );
});

void t.test('exclusive work runs alone, in its place in the order', async (t) => {
  const store = new FakeStore();
  const lane = new Lane(store);
  const log: string[] = [];
  const work = (name: string) => async (): Promise<string> => {
    log.push(`begin ${name}`);
    await new Promise(setImmediate);
    log.push(`end ${name}`);
    return name;
  };
  const answers = await Promise.all([
    lane.change(recording('a', log)),
    lane.exclusively(work('x')),
    lane.exclusively(work('y')),
    lane.change(recording('b', log)),
    lane.change(recording('c', log)),
  ]);
  t.same(answers, ['a', 'x', 'y', 'b', 'c']);
  t.same(log, [
    'did a',
    'told a',
    'begin x',
    'end x',
    'begin y',
    'end y',
    'did b',
    'did c',
    'told b',
    'told c',
  ]);
  t.equal(store.commits.length, 2, 'a change before exclusive work does not share a commit with one after');
});

void t.test('exclusive work that fails is refused alone', async (t) => {
  const lane = new Lane(new FakeStore());
  const failing = lane.exclusively(() => Promise.reject(new Error('no')));
  const later = lane.change(recording('a', []));
  await t.rejects(failing, new Error('no'));
  t.equal(await later, 'a');
});

// A project that is deleted while requests wait refuses each of them before it has a promise to reject.
void t.test('exclusive work that throws at once is refused alone, too', async (t) => {
  const lane = new Lane(new FakeStore());
  const failing = lane.exclusively(() => {
    throw new Refusal(404, 'gone', 'gone');
  });
  const later = lane.change(recording('a', []));
  await t.rejects(failing, new Refusal(404, 'gone', 'gone'));
  t.equal(await later, 'a');
});

void t.test('a change that is added before a commit is part of it, once for all its requests', async (t) => {
  const store = new FakeStore();
  const log: string[] = [];
  let version = 0;
  const lane = new Lane(store, (transaction) => {
    const before = version;
    version++;
    transaction.store({ put: ['version'], value: version });
    transaction.onUndo(() => {
      version = before;
    });
  });
  await Promise.all(['a', 'b'].map((name) => lane.change(recording(name, log))));
  await lane.change(() => undefined);
  t.same(store.commits, [
    [
      { put: ['a'], value: 'a' },
      { put: ['b'], value: 'b' },
      { put: ['version'], value: 1 },
    ],
  ]);
  store.failure = new Refusal(507, 'disk_full', 'full');
  await t.rejects(lane.change(recording('c', log)), isRefusal(507));
  t.equal(version, 1, 'it is undone with the commit');
});

void t.test('a change that follows an answer at any distance is carried out', async (t) => {
  // Each await puts the next request one step later after the lane has found nothing to do.
  for (let distance = 0; distance < 12; distance++) {
    const lane = new Lane(new FakeStore());
    await lane.change(recording('first', []));
    for (let step = 0; step < distance; step++) await Promise.resolve();
    let isDone = false;
    void lane.change(recording('second', [])).then(() => {
      isDone = true;
    });
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    t.ok(isDone, `${distance} steps after the first answer`);
  }
});

void t.test('refuses with 503 what finds too many requests waiting, and goes on', async (t) => {
  const lane = new Lane(new FakeStore());
  const busy = begun(lane);
  await busy.started;
  const waiting = names(10_000).map((name) => lane.change(recording(name, [])));
  await t.rejects(lane.change(recording('one too many', [])), isRefusal(503));
  await t.rejects(
    lane.exclusively(() => Promise.resolve()),
    isRefusal(503),
  );
  busy.release();
  await busy.done;
  t.equal((await Promise.all(waiting)).length, 10_000);
  t.equal(await lane.change(recording('later', [])), 'later');
});

void t.test('is idle when nothing waits or runs', async (t) => {
  const lane = new Lane(new FakeStore());
  await lane.idle();
  const busy = begun(lane);
  const log: string[] = [];
  const change = lane.change(recording('a', log));
  const idle = lane.idle().then(() => log.push('idle'));
  await new Promise(setImmediate);
  t.same(log, []);
  busy.release();
  await Promise.all([busy.done, change, idle]);
  t.same(log, ['did a', 'told a', 'idle']);
});
