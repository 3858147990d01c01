import t, { type Test } from 'tap';
import { LogReader } from '../../../src/captures/log/log-reader.js';
import { SupervisedEngine } from '../../../src/engine/control/supervised-engine.js';
import { refusals } from '../../../src/base/errors/errors.js';
import { LOG, LOG_WORDS, NO_CHUNK } from '../../../src/base/memory/capture-memory.js';
import { hostSockets } from '../../../src/engine/sockets/host-sockets.js';
import type { DeviceSettings, Order } from '../../../src/engine/forwarding/orders.js';
import { FAULT } from '../../support/engine-faults.js';
import { eventually } from '../../support/eventually.js';
import { fastClock, heldChecks } from '../../support/held-checks.js';
import { PaperLives } from '../../support/live-loop.js';
import { PaperLog } from '../../support/paper-log.js';
import {
  FAULTY_WORKER,
  LiveEngine,
  numbered,
  numbersOf,
  upTo,
  type Outside,
} from '../../support/live-engine.js';
import { planOf } from '../../support/tap-rig.js';
import { portions } from '../../support/udp-peer.js';
import { testSupervision } from '../../base/threads/worker-loop.contract.js';

const HUB: DeviceSettings = { kind: 'ethernet_hub', settings: null };
const SWITCH: DeviceSettings = { kind: 'ethernet_switch', settings: { ports: [] } };
/** The orders that an engine may have in its hands when it dies. */
const MOST_IN_HAND = 512;

const sockets = await hostSockets(process.platform);
const lack = process.platform === 'linux' ? false : 'sockets outlive engines on Linux only';

async function send(from: Outside, first: number, count: number): Promise<void> {
  for (const portion of portions(numbered(first, count))) await from.peer.send(from.localPort, portion);
}

/** A hub with two ports outside. */
async function hubOn(t: Test, live: LiveEngine) {
  const device = live.newDevice();
  await device.install(HUB);
  return {
    device,
    near: await live.attachOutside(t, device, 1),
    far: await live.attachOutside(t, device, 2),
  };
}

testSupervision('an engine', (t) => {
  const { engine, log } = new LiveEngine(t, sockets, FAULTY_WORKER);
  void engine.order({ do: 'add', device: 1, settings: HUB });
  const inspect = (device: number) => (): Promise<unknown> => engine.order({ do: 'inspect', device });
  return {
    loop: engine,
    log,
    ask: inspect(1),
    askForDeath: inspect(FAULT.exit),
    askToSpin: inspect(FAULT.spin),
  };
});

void t.test(
  'frames that are sent while an engine is dead arrive after its restart',
  { skip: lack },
  async (t) => {
    const live = new LiveEngine(t, sockets);
    const { device, near, far } = await hubOn(t, live);
    let sent = 0;
    for (let life = 1; life <= 2; life++) {
      await send(near, sent, 100);
      await far.peer.receive(sent + 100);
      live.engine.kill();
      await send(near, sent + 100, 1500);
      sent += 1600;
      await far.peer.receive(sent);
      await live.restarted(life);
    }
    t.same(numbersOf(far.peer.received), upTo(sent));
    // An answer comes after the turn, and so after everything in it was counted.
    await device.inspect();
    t.equal(device.counters(1)?.frames_in, sent, 'and counters go on from where they were');
    t.equal(device.counters(2)?.frames_out, sent);
    t.equal(live.engine.restarts, 2);
    t.same(
      live.reasons,
      Array.from({ length: 2 }, () => 'its thread was ended'),
    );
  },
);

void t.test('an engine that is killed in a quiet moment takes nothing with it', async (t) => {
  const live = new LiveEngine(t, sockets);
  const { near, far } = await hubOn(t, live);
  live.engine.kill();
  await live.restarted(1);
  await send(near, 0, 1);
  await far.peer.receive(1);
  await send(near, 1, 50);
  await far.peer.receive(51);
  t.same(numbersOf(far.peer.received), upTo(51));
});

void t.test(
  'killed under traffic an engine loses what it had in its hands, and nobody else notices',
  async (t) => {
    const [live, other] = [new LiveEngine(t, sockets), new LiveEngine(t, sockets)];
    const { device, near, far } = await hubOn(t, live);
    const neighbour = await hubOn(t, live);
    const witness = await hubOn(t, other);
    let sent = 0;
    const stream = async (): Promise<void> => {
      await send(near, sent, 20);
      await send(witness.near, sent, 20);
      sent += 20;
    };
    for (let life = 1; life <= 2; life++) {
      for (let portions = 0; portions < 20; portions++) await stream();
      live.engine.kill();
      while (live.reasons.length < life && sent < 8000) await stream();
      await live.restarted(life);
    }
    for (let portions = 0; portions < 20; portions++) await stream();
    await witness.far.peer.receive(sent);
    t.same(numbersOf(witness.far.peer.received), upTo(sent), 'another engine is undisturbed');
    await send(near, sent++, 1);
    await eventually('the last arrives', () =>
      far.peer.received.at(-1)?.readUInt32BE() === sent - 1 ? true : undefined,
    );
    const numbers = numbersOf(far.peer.received);
    t.ok(
      numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0)),
      'order is kept',
    );
    if (lack === false) t.ok(sent - numbers.length <= 2 * MOST_IN_HAND, `${sent - numbers.length} were lost`);
    await device.inspect();
    const { frames_out: out = 0 } = device.counters(2) ?? {};
    t.ok(
      out <= numbers.length && out >= numbers.length - 2 * MOST_IN_HAND,
      'sent, and dead before it counted',
    );
    await send(neighbour.near, 0, 5);
    t.same(numbersOf(await neighbour.far.peer.receive(5)), upTo(5), 'other devices live again, too');
  },
);

void t.test('orders that were on their way are answered, and what they wanted is so', async (t) => {
  const live = new LiveEngine(t, sockets);
  const { device, near, far } = await hubOn(t, live);
  const third = await live.outside(t, 3);
  const other = live.newDevice();
  live.engine.kill();
  const answers = await Promise.all([
    device.detach(2),
    device.attach(3, third.endpoint),
    other.install(SWITCH),
    device.configure(HUB),
    other.inspect(),
    device.inspect(),
  ]);
  t.same(answers, [undefined, undefined, undefined, undefined, { mac_table: [] }, null]);
  await send(near, 0, 3);
  t.same(numbersOf(await third.peer.receive(3)), upTo(3));
  t.equal(far.peer.received.length, 0);
  t.equal(device.counters(2), undefined);
  await t.rejects(device.detach(2), { message: 'port 2 is not attached' });
});

void t.test('a log that is released while its engine is dead is not in use any more', async (t) => {
  const live = new LiveEngine(t, sockets);
  const { device, near, far } = await hubOn(t, live);
  const deviceLog = device.takeLog();
  if (deviceLog === undefined) throw new Error('there is no log');
  const log = new LogReader(deviceLog);
  log.prepare();
  const tap = await device.tap(1, planOf({ log: deviceLog.index }));
  await send(near, 0, 10);
  await far.peer.receive(10);
  live.engine.kill();
  await Promise.all([device.untap(1, tap), deviceLog.release()]);
  const words = new Int32Array(deviceLog.memory.words, deviceLog.index * LOG_WORDS * 4, LOG_WORDS);
  t.equal(words[LOG.active], 0);
  t.ok(words.subarray(LOG.chunks).every((chunk) => chunk === NO_CHUNK));
});

void t.test('an engine comes back as it is wanted, not as it was', async (t) => {
  const live = new LiveEngine(t, sockets);
  const { device, near, far } = await hubOn(t, live);
  const { device: doomed, near: gone } = await hubOn(t, live);
  const third = await live.attachOutside(t, device, 3);
  live.engine.kill();
  const removed = doomed.remove();
  const detached = device.detach(2);
  await live.restarted(1);
  await Promise.all([removed, detached]);
  await send(near, 0, 3);
  await third.peer.receive(3);
  await send(gone, 0, 1);
  t.equal(far.peer.received.length, 0);
  await t.rejects(doomed.inspect(), { message: /^there is no device/ });
  await device.attach(2, far.endpoint);
  await send(near, 3, 2);
  t.same(numbersOf(await far.peer.receive(2)), [3, 4]);
  t.equal(live.removed, 1);
});

for (const [name, fault, reason] of [
  ['hangs', FAULT.spin, 'its thread was ended'],
  ['fails', FAULT.fail, 'out of luck'],
  ['ends its thread', FAULT.exit, 'its thread exited with code 3'],
] as const) {
  void t.test(`an engine that ${name} is started again with all it had`, async (t) => {
    fastClock(t);
    const check = fault === FAULT.spin ? heldChecks(t) : undefined;
    const live = new LiveEngine(t, sockets, FAULTY_WORKER);
    const { device, near, far } = await hubOn(t, live);
    await send(near, 0, 10);
    await far.peer.receive(10);
    // A question that ends every engine it is asked is not asked for ever.
    const lost = t.rejects(live.engine.order({ do: 'inspect', device: fault }), {
      name: 'LoopDeath',
      message: `the packet engine ended twice with the order inspect: ${reason}`,
    });
    if (check !== undefined) {
      await eventually('it is ended', () => {
        check();
        return live.reasons.length > 0 ? true : undefined;
      });
      live.engine.kill();
    }
    await lost;
    t.equal(await device.inspect(), null);
    await live.restarted(2);
    t.same(live.reasons, [reason, reason]);
    await send(near, 10, 40);
    await far.peer.receive(50);
    t.same(numbersOf(far.peer.received), upTo(50));
    await device.inspect();
    t.equal(device.counters(1)?.frames_in, 50);
  });
}

void t.test('an engine that opens its sockets itself opens them again', async (t) => {
  fastClock(t);
  const live = new LiveEngine(t, await hostSockets('darwin'), FAULTY_WORKER);
  const { device, near, far } = await hubOn(t, live);
  await send(near, 0, 10);
  await far.peer.receive(10);
  live.engine.kill();
  await live.restarted(1);
  await send(near, 10, 10);
  await far.peer.receive(20);
  await t.rejects(live.engine.order({ do: 'inspect', device: FAULT.fail }));
  await live.restarted(3);
  await send(near, 20, 10);
  await far.peer.receive(30);
  t.same(numbersOf(far.peer.received), upTo(30));
  t.equal(device.counters(1)?.frames_in, 30);
});

void t.test('an engine is closed while it rests, hangs or has orders to carry out', async (t) => {
  const live = new LiveEngine(t, sockets, FAULTY_WORKER);
  await live.newDevice().install(HUB);
  const hanging = live.engine.order({ do: 'inspect', device: FAULT.spin });
  const waiting = live.engine.order({ do: 'inspect', device: 1 });
  const refused = [t.rejects(hanging), t.rejects(waiting)];
  await live.engine.close();
  await Promise.all(refused);
  await t.rejects(live.engine.order({ do: 'inspect', device: 1 }), refusals.stopping());
  t.equal(live.engine.restarts, 0);

  const resting = new LiveEngine(t, sockets);
  await resting.newDevice().install(HUB);
  resting.engine.kill();
  const lost = t.rejects(resting.engine.order({ do: 'inspect', device: 1 }));
  await resting.engine.close();
  await lost;
  t.equal(resting.engine.restarts, 0);
});

/** An engine without a thread: each life is what the test makes of it. */
class PaperEngine {
  readonly lives: PaperLives;
  readonly engine: SupervisedEngine;
  readonly log = new PaperLog();
  bells = 0;
  listeners = 0;
  isBellClosed = false;
  restarted = 0;

  constructor(t: Test) {
    const lives = new PaperLives(t);
    this.lives = lives;
    this.engine = new SupervisedEngine({
      run: lives.run,
      captureBytes: 0,
      log: this.log.log,
      newBell: () => {
        this.bells++;
        return {
          newListener: () => {
            this.listeners++;
            return { epoll: 1000, event: 1001 };
          },
          ring: () => undefined,
          close: () => (this.isBellClosed = true),
        };
      },
      onDeath: () => ({ labs: 7 }),
      onRestart: () => this.restarted++,
    });
    t.teardown(() => {
      const closed = this.engine.close();
      lives.end();
      return closed;
    });
  }
}

const asked = (order: Order): { task: string; input: Order } => ({ task: order.do, input: order });

void t.test('an engine that dies as soon as it lives is given a rest in between', async (t) => {
  const paper = new PaperEngine(t);
  const add: Order = { do: 'add', device: 1, settings: HUB };
  const answer = paper.engine.order(add);
  for (let life = 1; life <= 3; life++) (await paper.lives.take(life)).end(new Error('stillborn'));
  const life = await paper.lives.take(4, 1);
  t.same(
    paper.log.with('a packet engine died').map(({ restMs, labs }) => [restMs, labs]),
    [
      [500, 7],
      [1000, 7],
      [2000, 7],
    ],
    'it is not started again and again at once',
  );
  t.equal(paper.bells, 1, 'a life needs no descriptors, which may have run out');
  t.equal(paper.listeners, 4);
  t.same(life.received, [asked(add)], 'the order comes again, from the wanted graph');
  t.equal(paper.engine.restarts, 3);
  t.equal(paper.restarted, 0);
  life.answerTo(1, 'an answer to an order of another life');
  life.answer(undefined);
  await answer;
  await eventually('each restart is told', () => (paper.restarted === 3 ? true : undefined));
  t.match(paper.log.with('a packet engine was restarted').at(-1), { restarts: 3, labs: 7 });
});

void t.test('a log is released however often the engine dies', async (t) => {
  fastClock(t);
  const paper = new PaperEngine(t);
  const release: Order = { do: 'release', log: 1 };
  const answer = paper.engine.order(release);
  for (let life = 1; life <= 3; life++) (await paper.lives.take(life, 1)).end(new Error('out of luck'));
  const life = await paper.lives.take(4, 1);
  t.same(life.received, [asked(release)]);
  life.answer(undefined);
  await answer;
});

void t.test('an engine that is closed while it rests is not started again', async (t) => {
  const paper = new PaperEngine(t);
  const answers = [
    paper.engine.order({ do: 'inspect', device: 1 }),
    paper.engine.order({ do: 'add', device: 1, settings: HUB }),
  ];
  const refused = answers.map((answer) => t.rejects(answer, refusals.stopping()));
  (await paper.lives.take(1)).end(new Error('stillborn'));
  await eventually('it rests', () => paper.log.with('died')[0]);
  await paper.engine.close();
  await Promise.all(refused);
  t.equal(paper.lives.count, 1);
  t.equal(paper.engine.restarts, 0);
  t.ok(paper.isBellClosed);
});

void t.test('while the thread of an engine that was ended is there, no other one starts', async (t) => {
  const check = heldChecks(t);
  const paper = new PaperEngine(t);
  const life = await paper.lives.take(1);
  life.isStuck = true;
  paper.engine.kill();
  for (let checks = 0; checks < 9; checks++) check();
  t.same(paper.log.lines, [], 'it has five seconds');
  for (let checks = 0; checks < 30; checks++) check();
  t.same(
    paper.log.lines.map(({ msg }) => msg),
    ['the thread of a packet engine does not end; what it did stands still'],
    'it is told of once',
  );
  t.equal(paper.lives.count, 1);
  life.end(new Error('back from the kernel'));
  await paper.lives.take(2);
});

void t.test('an engine whose thread never ends is left behind when it is closed', async (t) => {
  const paper = new PaperEngine(t);
  (await paper.lives.take(1)).isStuck = true;
  const answer = t.rejects(paper.engine.order({ do: 'inspect', device: 1 }), refusals.stopping());
  await paper.engine.close();
  await answer;
  t.equal(paper.log.with('does not end').length, 1);
  t.notOk(paper.isBellClosed, 'the thread may still wait on it');
});

void t.test('an engine that takes no turn for two seconds is ended, and has ten for its first', async (t) => {
  const check = heldChecks(t);
  const paper = new PaperEngine(t);
  const life = await paper.lives.take(1);
  for (let checks = 0; checks < 4; checks++) check();
  t.notOk(life.isKilled);
  paper.lives.isSlow = true;
  check();
  t.ok(life.isKilled);
  const slow = await paper.lives.take(2);
  t.equal(paper.engine.restarts, 1);
  for (let checks = 0; checks < 20; checks++) check();
  t.notOk(slow.isKilled);
  check();
  t.ok(slow.isKilled);
});
