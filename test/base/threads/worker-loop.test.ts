import t from 'tap';
import { Refusal, refusals } from '../../../src/base/errors/errors.js';
import { LoopDeath } from '../../../src/base/threads/worker-loop.js';
import { eventually } from '../../support/eventually.js';
import { fastClock, heldChecks } from '../../support/held-checks.js';
import { LiveLoop, PaperLoop } from '../../support/live-loop.js';
import type { DieInput } from '../../support/loop-worker.js';
import { seededRandom } from '../../support/seeded-random.js';
import { testSupervision } from './worker-loop.contract.js';

const CHECKS = 20;

const word = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(4));
const die = (most: number): { task: string; input: DieInput } => {
  return { task: 'die', input: { deaths: word(), most } };
};
const echo = (input: unknown): { task: string; input: unknown } => ({ task: 'echo', input });

/** Notes the name with how a promise ends, when it does. */
function note(promise: Promise<unknown>, name: string, ends: string[]): void {
  promise.then(
    () => ends.push(`${name} is answered`),
    () => ends.push(`${name} fails`),
  );
}

testSupervision('a loop', (t) => {
  const { loop, log } = new LiveLoop(t);
  return {
    loop,
    log,
    ask: () => loop.ask(echo(1)),
    askForDeath: () => loop.ask(die(5)),
    askToSpin: () => loop.ask({ task: 'spin', input: word() }),
  };
});

void t.test('orders are answered in order by one thread, which the first of them starts', async (t) => {
  const { loop, told } = new LiveLoop(t);
  const thread = await loop.ask({ task: 'thread', input: undefined });
  t.not(thread, 0);
  const answered: unknown[] = [];
  const asked = Array.from({ length: 100 }, async (_, index) => {
    t.equal(await loop.ask(echo(index)), index);
    answered.push(index);
  });
  await Promise.all(asked);
  t.same(
    answered,
    Array.from({ length: 100 }, (_, index) => index),
  );
  t.equal(await loop.ask({ task: 'thread', input: undefined }), thread);
  t.same(told.slice(0, 2), [{ greeting: 'good morning' }, { done: 0 }], 'and what it says is told');
  t.equal(told.length, 101);
  if (process.platform === 'linux') t.equal(await loop.ask({ task: 'priority', input: undefined }), 5);
});

void t.test('the error of an order arrives', async (t) => {
  const { loop } = new LiveLoop(t);
  await t.rejects(loop.ask({ task: 'refuse', input: 418 }), new Refusal(418, 'refused', 'refused with 418'));
  await t.rejects(loop.ask({ task: 'unheard of', input: 1 }), { message: 'Unknown task unheard of' });
  t.equal(await loop.ask(echo('still')), 'still');
  t.equal(loop.restarts, 0);
});

void t.test('a loop that dies is started again, and given its orders again', async (t) => {
  const { loop, told } = new LiveLoop(t);
  const ends: string[] = [];
  const first = loop.ask(echo('before'));
  const deadly = loop.ask(die(1));
  const behind = [1, 2, 3].map((input) => loop.ask(echo(input)));
  for (const [index, order] of behind.entries()) note(order, String(index), ends);
  t.equal(await first, 'before');
  t.equal(await deadly, 1, 'it is carried out by the second life');
  t.same(await Promise.all(behind), [1, 2, 3]);
  t.same(ends, ['0 is answered', '1 is answered', '2 is answered']);
  t.equal(loop.restarts, 1);
  const reason = 'its thread exited with code 3';
  const greeting = 'good morning';
  t.same(told, [
    { greeting },
    { done: 'before' },
    { death: reason },
    { restart: reason },
    { greeting },
    { done: 1 },
    { done: 2 },
    { done: 3 },
  ]);
});

void t.test('an order is given to two lives at most', async (t) => {
  fastClock(t);
  const { loop } = new LiveLoop(t);
  const input = die(5);
  await t.rejects(loop.ask(input), {
    name: 'LoopDeath',
    message: 'the loop of a test ended twice with the order die: its thread exited with code 3',
  });
  t.equal(Atomics.load(input.input.deaths, 0), 2);
  t.equal(await loop.ask(echo('alive')), 'alive');
  t.equal(loop.restarts, 2);
});

void t.test('an order that was answered is not given again', async (t) => {
  const paper = new PaperLoop(t);
  const [one, other] = [paper.loop.ask(echo(1)), paper.loop.ask(echo(2))];
  const life = await paper.life(1, 2);
  life.answer('one');
  t.equal(await one, 'one');
  life.end(new Error('out of luck'));
  const next = await paper.life(2, 1);
  t.same(next.received, [echo(2)]);
  next.answer('other');
  t.equal(await other, 'other');
});

void t.test('orders that are given once only are lost with their loop, others are not', async (t) => {
  const paper = new PaperLoop(t, { fate: ({ task }) => (task === 'echo' ? 'again' : 'lost') });
  const append = paper.loop.ask({ task: 'append', input: 1 });
  const other = paper.loop.ask(echo(1));
  const life = await paper.life(1, 2);
  const lost = t.rejects(
    append,
    new LoopDeath('the loop of a test ended with the order append: out of luck'),
  );
  life.end(new Error('out of luck'));
  await lost;
  // No life has seen this one.
  const cut = paper.loop.ask({ task: 'cut', input: 2 });
  const next = await paper.life(2, 2);
  t.same(next.received, [echo(1), { task: 'cut', input: 2 }]);
  next.answer(10);
  next.answer(11);
  t.same(await Promise.all([other, cut]), [10, 11]);
});

void t.test('orders of a restart come before orders that wait', async (t) => {
  const paper = new PaperLoop(t);
  const ends: string[] = [];
  paper.restore = () => {
    const adopted = paper.loop.ask(echo('adopt'));
    note(adopted, 'adopt', ends);
    return [adopted];
  };
  for (const name of ['first', 'second']) note(paper.loop.ask(echo(name)), name, ends);
  (await paper.life(1, 2)).end();
  await eventually('it is told of', () => (paper.told.length > 0 ? true : undefined));
  note(paper.loop.ask(echo('meanwhile')), 'meanwhile', ends);
  const life = await paper.life(2, 4);
  t.same(life.received, ['adopt', 'first', 'second', 'meanwhile'].map(echo));
  for (let answers = 0; answers < 4; answers++) life.answer('done');
  await eventually('all are answered', () => ends[3]);
  t.same(
    ends,
    ['adopt', 'first', 'second', 'meanwhile'].map((name) => `${name} is answered`),
  );
  const reason = 'it came to its end';
  t.same(paper.told, [{ death: reason }, { restart: reason }]);
});

void t.test(
  'a loop that dies as soon as it lives is given a rest in between, each longer than the last',
  async (t) => {
    const paper = new PaperLoop(t, { fate: () => 'again' });
    const answer = paper.loop.ask(echo(1));
    for (let life = 1; life <= 3; life++) (await paper.life(life, 1)).end(new Error('stillborn'));
    const last = await paper.life(4, 1);
    last.answer('done');
    t.equal(await answer, 'done');
    const died = paper.log.with('died');
    t.same(
      died.map(({ restMs }) => restMs),
      [500, 1000, 2000],
    );
    t.match(died[0], { msg: 'a loop of a test died', reason: 'stillborn', deaths: 1 });
    t.match(paper.log.with('was restarted').at(-1), {
      msg: 'a loop of a test was restarted',
      reason: 'stillborn',
      restarts: 3,
      deaths: 1,
    });
  },
);

void t.test(
  'orders that are restored are answered with what restores them, whenever they were given',
  async (t) => {
    const isRestored = (task: string): boolean => task === 'add' || task === 'remove';
    const paper = new PaperLoop(t, { fate: ({ task }) => (isRestored(task) ? 'restored' : 'again') });
    const ends: string[] = [];
    paper.restore = () => [paper.loop.ask({ task: 'add', input: 'all' })];
    note(paper.loop.ask({ task: 'add', input: 1 }), 'add', ends);
    note(paper.loop.ask(echo(1)), 'echo', ends);
    (await paper.life(1, 2)).end(new Error('out of luck'));
    await eventually('it rests', () => (paper.told.length > 0 ? true : undefined));
    note(paper.loop.ask({ task: 'remove', input: 2 }), 'remove', ends);
    const second = await paper.life(2, 2);
    t.same(second.received, [{ task: 'add', input: 'all' }, echo(1)]);
    // It dies before it has been given back what there was.
    second.end(new Error('out of luck'));
    const third = await paper.life(3, 2);
    t.same(third.received, [{ task: 'add', input: 'all' }, echo(1)]);
    t.same(ends, []);
    third.answer('all is there');
    await eventually('both are restored', () => ends[1]);
    t.same(ends, ['add is answered', 'remove is answered']);
    third.answer('echo');
    await eventually('all are answered', () => ends[2]);
    const [death, restart] = [{ death: 'out of luck' }, { restart: 'out of luck' }];
    t.same(paper.told, [death, death, restart, restart], 'a restart is told when all is restored');
  },
);

void t.test('a loop that is killed again and again answers everything, in order', async (t) => {
  fastClock(t);
  const live = new LiveLoop(t);
  const { loop } = live;
  const random = seededRandom(7);
  const ends: string[] = [];
  const names: string[] = [];
  for (let kills = 1; kills <= 3; kills++) {
    const asked = Array.from({ length: 200 }, (_, index) => {
      const name = `${kills}.${index}`;
      const answer = loop.ask(echo(name));
      names.push(name);
      note(answer, name, ends);
      return answer;
    });
    // Some of them have been carried out, at least.
    await asked[Math.floor(random() * 200)];
    loop.kill();
    // An order that meets two deaths is given up.
    await Promise.all([...asked, live.restarts(kills)]);
  }
  await loop.ask(echo('last'));
  t.same(
    ends,
    names.map((name) => `${name} is answered`),
  );
});

void t.test('a loop with orders that has not come round for ten seconds is ended', async (t) => {
  const check = heldChecks(t);
  const paper = new PaperLoop(t);
  const answer = paper.loop.ask(echo(1));
  const life = await paper.life(1, 1);
  for (let checks = 0; checks < 2 * CHECKS; checks++) {
    // It comes round every now and then.
    if (checks % (CHECKS - 1) === 0) life.beat();
    check();
  }
  t.notOk(life.isKilled);
  life.beat();
  // The first of them sees that it did.
  for (let checks = 0; checks < CHECKS; checks++) check();
  t.notOk(life.isKilled);
  check();
  t.ok(life.isKilled);
  const next = await paper.life(2, 1);
  next.answer('done');
  t.equal(await answer, 'done');
  for (let checks = 0; checks < 3 * CHECKS; checks++) check();
  t.notOk(next.isKilled, 'nothing is expected of it');
});

void t.test('a silent loop with other work is ended, too; a loop without work may be silent', async (t) => {
  const check = heldChecks(t);
  let isBusy = false;
  let looks = 0;
  const paper = new PaperLoop(t, { isBusy: () => isBusy, onCheck: () => looks++ });
  const answer = paper.loop.ask(echo(1));
  const life = await paper.life(1, 1);
  life.answer('done');
  await answer;
  for (let checks = 0; checks < 3 * CHECKS; checks++) check();
  t.notOk(life.isKilled);
  isBusy = true;
  for (let checks = 0; checks < CHECKS - 1; checks++) check();
  t.notOk(life.isKilled);
  check();
  t.ok(life.isKilled);
  t.equal(looks, 4 * CHECKS);
});

const lack = process.platform === 'linux' ? false : 'this host does not tell what its threads do';

void t.test('a loop that waits for the disk is waited for, minutes long', { skip: lack }, async (t) => {
  const check = heldChecks(t);
  const paper = new PaperLoop(t);
  const answer = paper.loop.ask(echo(1));
  const life = await paper.life(1, 1);
  life.waitsForDisk();
  life.beat();
  for (let checks = 0; checks < 600; checks++) check();
  t.notOk(life.isKilled);
  t.same(
    paper.log.lines.map(({ msg }) => msg),
    ['a loop of a test has been waiting for the disk for ten seconds'],
    'it is told of once',
  );
  check();
  t.ok(life.isKilled, 'but not for ever');
  const next = await paper.life(2, 1);
  next.answer('done');
  t.equal(await answer, 'done');
});

void t.test(
  'a thread that stalls goes on where it was, one that spins is ended',
  { skip: lack },
  async (t) => {
    const check = heldChecks(t);
    const { loop } = new LiveLoop(t);
    const stalled = word();
    const answer = loop.ask({ task: 'stall', input: stalled });
    await eventually('it stalls', () => (Atomics.load(stalled, 0) > 0 ? true : undefined));
    for (let checks = 0; checks < 3 * CHECKS; checks++) check();
    Atomics.store(stalled, 0, 2);
    Atomics.notify(stalled, 0);
    await answer;
    t.equal(loop.restarts, 0);

    const spinning = word();
    const lost = t.rejects(loop.ask({ task: 'spin', input: spinning }));
    await eventually('it spins', () => (Atomics.load(spinning, 0) > 0 ? true : undefined));
    await eventually('it is ended', () => {
      check();
      return loop.restarts > 0 ? true : undefined;
    });
    loop.kill();
    await lost;
  },
);

void t.test('a loop that is closed finishes, and takes nothing more', async (t) => {
  const { loop, told } = new LiveLoop(t);
  await loop.ask(echo(1));
  await loop.close();
  t.equal(told.at(-1), 'finished');
  await t.rejects(loop.ask(echo(2)), refusals.stopping());
  t.equal(loop.restarts, 0);

  const unused = new PaperLoop(t);
  await unused.loop.close();
  await t.rejects(unused.loop.ask(echo(2)), refusals.stopping());
  t.equal(unused.lives.count, 0);
});

void t.test('a loop that is told to end gives its last answers, and its end is awaited', async (t) => {
  const paper = new PaperLoop(t);
  const answered = paper.loop.ask(echo(1));
  const refused = t.rejects(paper.loop.ask(echo(2)), refusals.stopping());
  const life = await paper.life(1, 2);
  paper.loop.tellToEnd();
  t.ok(life.isToldToStop);
  const ends: string[] = [];
  const closed = paper.loop.close();
  note(closed, 'the close', ends);
  life.answer('last');
  t.equal(await answered, 'last');
  t.same(ends, []);
  life.end();
  await Promise.all([closed, refused]);
  t.equal(paper.loop.restarts, 0);
});

void t.test(
  'a loop may have a bell of its own, and less patience, but not before its first round',
  async (t) => {
    const check = heldChecks(t);
    let rings = 0;
    const paper = new PaperLoop(t, { isBusy: () => true, mostMissedChecks: 4, ring: () => rings++ });
    paper.loop.start();
    paper.loop.start();
    const life = await paper.life(1);
    t.equal(paper.lives.count, 1);
    t.equal(rings, 0, 'nothing was asked of it');
    for (let checks = 0; checks < 4; checks++) check();
    t.notOk(life.isKilled);
    check();
    t.ok(life.isKilled);
    paper.lives.isSlow = true;
    const slow = await paper.life(2);
    for (let checks = 0; checks < CHECKS; checks++) check();
    t.notOk(slow.isKilled, 'a busy host is slow to start a thread');
    check();
    t.ok(slow.isKilled);
    await eventually('it rests', () => paper.log.with('died')[1]);
    const answer = paper.loop.ask(echo(1));
    const next = await paper.life(3, 1);
    t.equal(rings, 1);
    next.answer('done');
    t.equal(await answer, 'done');
  },
);

void t.test('while the thread of a loop that was ended is there, no other one starts', async (t) => {
  const check = heldChecks(t);
  const paper = new PaperLoop(t);
  const answer = paper.loop.ask(echo(1));
  const life = await paper.life(1, 1);
  life.isStuck = true;
  paper.loop.kill();
  for (let checks = 0; checks < 9; checks++) check();
  t.same(paper.log.lines, [], 'it has five seconds');
  for (let checks = 0; checks < 30; checks++) check();
  t.same(
    paper.log.lines.map(({ msg }) => msg),
    ['the thread of a loop of a test does not end; what it did stands still'],
    'it is told of once',
  );
  t.ok(paper.loop.hasThread);
  t.equal(paper.lives.count, 1);
  life.end(new Error('back from the kernel'));
  (await paper.life(2, 1)).answer('done');
  t.equal(await answer, 'done');
});

void t.test('a loop that hangs when it is closed is ended', async (t) => {
  const [live, paper, stuck] = [new LiveLoop(t), new PaperLoop(t), new PaperLoop(t)];
  const hung = word();
  const asked = [
    live.loop.ask({ task: 'spin', input: hung }),
    ...[paper, stuck].map(({ loop }) => loop.ask(echo(1))),
  ];
  const refused = asked.map((answer) => t.rejects(answer, refusals.stopping()));
  await eventually('it hangs', () => (Atomics.load(hung, 0) > 0 ? true : undefined));
  const lives = [await paper.life(1, 1), await stuck.life(1, 1)];
  for (const life of lives.slice(1)) life.isStuck = true;
  const loops = [live.loop, paper.loop, stuck.loop];
  await Promise.all([...loops.map((loop) => loop.close()), ...refused]);
  t.ok(lives.every((life) => life.isKilled));
  t.same(
    loops.map((loop) => loop.hasThread),
    [false, false, true],
  );
  t.same(
    loops.map((loop) => loop.restarts),
    [0, 0, 0],
  );
});

void t.test('a loop that has died is not started again when it is closed, or told to end', async (t) => {
  for (const name of ['close', 'tellToEnd'] as const) {
    const paper = new PaperLoop(t);
    const refused = t.rejects(paper.loop.ask(echo(1)), refusals.stopping());
    (await paper.life(1, 1)).end(new Error('out of luck'));
    await eventually('it is told of', () => (paper.told.length > 0 ? true : undefined));
    await paper.loop[name]();
    await refused;
    t.same([paper.lives.count, paper.loop.restarts], [1, 0], name);
  }
});
