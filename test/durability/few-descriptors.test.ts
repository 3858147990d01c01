/** A server that may have few descriptors, and clients that want them all. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { noMoreDescriptors } from '../support/open-descriptors.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

const FEW = 256;
const MANY = 400;

interface Outcomes {
  readonly open: Set<Socket>;
  refused: number;
}

/** Opens connections and says nothing on them; resolves when each is open or refused. */
async function connectMany(t: Test, { port }: ServerProcess, count: number): Promise<Outcomes> {
  const outcomes: Outcomes = { open: new Set(), refused: 0 };
  t.teardown(() => {
    for (const socket of outcomes.open) socket.destroy();
  });
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('connect', () => outcomes.open.add(socket));
    let said = '';
    socket.on('data', (bytes) => (said += bytes.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      outcomes.open.delete(socket);
      if (said.startsWith('HTTP/1.1 503 ')) outcomes.refused++;
    });
  }
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return outcomes;
}

/** How long the processor has worked for the process, in hundredths of a second. */
function ticksOf({ child: { pid } }: ServerProcess): number {
  const stat = readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8');
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
  return user + system;
}

/** The library accepts all that wait, 512 at most, in one turn, and each that is refused takes some system calls. */
const BURST_TURN_MS = 400;
const hasProc = process.platform === 'linux';

void t.test('more connections than there are descriptors', { skip: !hasProc }, async (t) => {
  const server = await startServer(t, { descriptors: FEW, allowedTurnMs: BURST_TURN_MS });
  const client = new Client(server.url);
  t.equal((await client.get('/v2/version')).status, 200);
  const outcomes = await connectMany(t, server, MANY);
  const { open } = outcomes;
  await eventually('the others are refused', () => (open.size < FEW ? true : undefined));
  t.ok(outcomes.refused > 0 && open.size > 0, `${open.size} are open, ${outcomes.refused} are refused`);
  const before = ticksOf(server);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const ticks = ticksOf(server) - before;
  t.ok(ticks < 40, `nothing is tried in vain: ${ticks} hundredths of a second in two seconds`);
  const said = /new connections are refused: raise the limit of open files/g;
  t.equal(server.log().match(said)?.length, 1, 'the log tells it once');
  const answer = await fetch(`${server.url}/v2/version`).then(({ status }) => status);
  t.ok([200, 503].includes(answer), 'others are answered, in one way or another');

  // The connections that it has still work.
  for (const socket of [...open].slice(0, 5)) socket.destroy();
  const project = await eventually('there is room again', async () => {
    const reply = await client.post('/v2/projects', { name: 'few' }).catch(() => undefined);
    return reply?.status === 201 ? reply : undefined;
  });
  t.type(project.body, Object);
  for (const socket of open) socket.destroy();
  await noMoreDescriptors(server, 90);
  t.equal((await client.get('/v2/projects')).status, 200);
  t.equal(await server.stop(), 0);
});

const lack =
  spawnSync('strace', ['-V']).error === undefined ? false : 'it takes the program strace (package strace)';

void t.test('an engine that hangs meanwhile comes back', { skip: lack }, async (t) => {
  const server = await startServer(t, { descriptors: FEW, allowedTurnMs: BURST_TURN_MS });
  const { open } = await connectMany(t, server, MANY);
  await server.logged(/refused/);
  const hold = spawn('strace', [
    ...['-f', '-qq', '-o', '/dev/null', '-p', String(server.child.pid)],
    ...['-e', 'trace=epoll_pwait2,epoll_pwait', '-e', 'inject=epoll_pwait2:delay_enter=4000000'],
  ]);
  t.teardown(() => hold.kill('SIGKILL'));
  await server.logged(/a packet engine died/);
  hold.kill('SIGINT');
  await once(hold, 'close');
  await eventually('it lives', () =>
    server.log().includes('a packet engine was restarted') ? true : undefined,
  );
  for (const socket of open) socket.destroy();
  await noMoreDescriptors(server, 90);
  t.equal((await new Client(server.url).get('/v2/version')).status, 200);
  t.equal(await server.stop(), 0);
});
