/** The socket of a keeper, with clients that are no servers, or bad ones. */
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pack } from 'msgpackr';
import t from 'tap';
import { FrameReader, frameOf, LONGEST_FRAME } from '../../../src/run/keeper/frames.js';
import { KEEPER_VERSION, type KeeperMessage, type ServerMessage } from '../../../src/run/keeper/messages.js';
import { OutputRing } from '../../../src/run/keeper/output-ring.js';
import { eventually } from '../../support/eventually.js';
import { seededRandom } from '../../support/seeded-random.js';
import { contentOf, keeperOf, newRig, printed, shell, textOf, type Rig } from './keeper-rig.js';

const MEBIBYTE = 1024 * 1024;

async function connected({ folder }: Rig): Promise<Socket> {
  const socket = connect({ path: join(folder, 'keeper.sock') });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function hello({ mark }: Rig, graceSeconds: number): Buffer {
  return frameOf({ kind: 'hello', version: KEEPER_VERSION, mark, graceSeconds } satisfies ServerMessage);
}

const SENT: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['no length', Buffer.of(0)],
  ['text', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['a frame that is too long', Buffer.of(0xff, 0xff, 0xff, 0xff, 1, 2, 3)],
  ['a frame of nothing', Buffer.of(0, 0, 0, 0)],
  ['no MessagePack', Buffer.of(0, 0, 0, 3, 0xc1, 0xc1, 0xc1)],
  ['no object', frameOf('hello')],
  ['a message of no kind', frameOf({ kind: 'other' })],
  ['an order without a hello', frameOf({ kind: 'end' } satisfies ServerMessage)],
  ['a hello without a version', frameOf({ kind: 'hello', mark: 'x', graceSeconds: 0 })],
];

void t.test('strangers on the socket change nothing', async (t) => {
  const rig = newRig(t);
  const keeper = rig.newKeeper();
  await keeper.start();
  const program = await keeper.spawn(shell('own', 'echo here; while read line; do echo "got $line"; done'));
  for (const [what, bytes] of SENT) {
    const stranger = await connected(rig);
    const closed = once(stranger, 'close');
    stranger.end(bytes);
    stranger.resume();
    await closed;
    program.write(Buffer.from(`${what}\n`));
    await printed(program, `got ${what}\r\n`);
  }
});

void t.test(
  'a server that breaks the protocol is cut, and another one goes on with its programs',
  async (t) => {
    for (const [what, bytes] of SENT.slice(1)) {
      const rig = newRig(t);
      const starter = rig.newKeeper(30);
      await starter.start();
      await starter.spawn(shell('own', 'echo here; sleep 1000'));
      await starter.close(true);
      const bad = await connected(rig);
      const closed = once(bad, 'close');
      const reader = new FrameReader();
      let isWelcome = false;
      bad.on('data', (part) => {
        isWelcome ||= reader.push(part).some((message) => (message as KeeperMessage).kind === 'welcome');
      });
      bad.write(hello(rig, 0));
      await eventually('it is welcome', () => isWelcome || undefined);
      const asks = what === 'an order without a hello' ? frameOf({ kind: 'hello' }) : bytes;
      bad.write(asks);
      await closed;
      const next = rig.newKeeper();
      t.same(
        (await next.start()).map(({ id, isRunning }) => [id, isRunning]),
        [['own', true]],
        what,
      );
      await next.close();
    }
  },
);

void t.test('a keeper of an older version is ended, and a new one takes its place', async (t) => {
  const rig = newRig(t);
  mkdirSync(rig.folder, { recursive: true });
  const asked: unknown[] = [];
  const older = createServer((socket) => {
    const reader = new FrameReader();
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      for (const message of reader.push(bytes) as ServerMessage[]) {
        asked.push(message.kind);
        if (message.kind === 'hello')
          socket.write(frameOf({ ...message, version: KEEPER_VERSION - 1, pid: 2 ** 30 }));
        if (message.kind !== 'end') continue;
        older.close();
        socket.destroy();
      }
    });
  });
  older.listen(join(rig.folder, 'keeper.sock'));
  await once(older, 'listening');
  const keeper = rig.newKeeper(30);
  t.same(await keeper.start(), []);
  t.same(asked, ['hello', 'end']);
  const program = await keeper.spawn(shell('own', 'echo here; sleep 1000'));
  await printed(program, 'here');
});

void t.test('a server that does not read costs no memory, and holds up no program', async (t) => {
  const rig = newRig(t);
  const starter = rig.newKeeper(30);
  await starter.start();
  await starter.close(true);
  const pid = keeperOf(rig.mark) ?? 0;
  const idle = await connected(rig);
  idle.write(hello(rig, 30));
  const done = join(rig.folder, 'done');
  for (const console of ['terminal', 'pipes'] as const) {
    const script = `head -c 50000000 /dev/zero | tr '\\0' x; echo the end; touch ${done}.${console}; sleep 1000`;
    const order = {
      ...shell(console, script, { console }),
      niceness: 0,
      memo: 'null',
      confinement: undefined,
    };
    idle.write(frameOf({ kind: 'spawn', request: 1, order } satisfies ServerMessage));
    await eventually('all is printed', () => existsSync(`${done}.${console}`) || undefined);
  }
  const most = Number(/VmHWM:\s+(\d+)/.exec(contentOf(pid, 'status'))?.[1]) / 1024;
  t.comment(`${most} MiB at most`);
  t.ok(most > 0 && most < 160);
  idle.destroy();
  const next = rig.newKeeper();
  for (const program of await next.start()) {
    t.ok(program.output.length <= 65_536);
    t.match(textOf(program), /x{60000}the end/);
  }
});

void t.test('a server that reads has all of the output', async (t) => {
  const rig = newRig(t);
  const keeper = rig.newKeeper();
  await keeper.start();
  const program = await keeper.spawn(
    shell('count', 'read line; seq 1 200000; sleep 1000', { console: 'pipes' }),
  );
  let text = '';
  program.listen((bytes) => (text += Buffer.from(bytes).toString('latin1')));
  program.write(Buffer.from('\n'));
  await eventually('all is there', () => text.endsWith('\n200000\n') || undefined);
  const wanted = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('');
  t.ok(text === wanted, 'nothing is missing');
});

void t.test('frames are read however they are split', (t) => {
  const messages = [{ kind: 'a', bytes: Buffer.alloc(1000, 7) }, 'text', 5, { list: [1, 2, 3] }];
  const stream = Buffer.concat(messages.map(frameOf));
  for (const size of [1, 3, 5, 64, 1003, stream.length]) {
    const reader = new FrameReader();
    const read: unknown[] = [];
    for (let at = 0; at < stream.length; at += size)
      read.push(...reader.push(stream.subarray(at, at + size)));
    t.same(read, messages, `parts of ${size}`);
  }
  const length = Buffer.alloc(4);
  length.writeUInt32BE(LONGEST_FRAME + 1);
  t.throws(() => new FrameReader().push(length), /too long/);
  const largest = Buffer.alloc(LONGEST_FRAME - 100, 1);
  const frame = frameOf(largest);
  t.ok(frame.length <= LONGEST_FRAME + 4 && pack(largest).length === frame.length - 4);
  t.same(new FrameReader().push(frame), [largest]);
  t.end();
});

void t.test('a ring has the last 64 KiB, whatever the parts', (t) => {
  const random = seededRandom(7);
  const ring = new OutputRing();
  let model = Buffer.alloc(0);
  let end = 0;
  for (let round = 0; round < 300; round++) {
    const largest = round % 10 === 0 ? 0.15 * MEBIBYTE : 3000;
    const part = Buffer.from(Array.from({ length: 16 }, () => Math.floor(random() * 256)));
    const bytes = Buffer.alloc(Math.floor(random() * largest), part);
    ring.push(bytes);
    end += bytes.length;
    model = Buffer.concat([model, bytes]).subarray(-65_536);
    const from = ring.start + Math.floor(random() * (ring.end - ring.start));
    const most = Math.floor(random() * 70_000);
    const at = from - ring.start;
    if (
      ring.end !== end ||
      ring.end - ring.start !== model.length ||
      !model.subarray(at, at + most).equals(ring.read(from, most))
    )
      t.fail(`round ${round}`);
  }
  ring.skipTo(end + 10);
  ring.push(Buffer.from('new'));
  t.same([ring.start, ring.end], [end + 10, end + 13]);
  t.equal(Buffer.from(ring.read(ring.start, 100)).toString(), 'new');
  t.end();
});
