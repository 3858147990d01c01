/** The client of QMP against a server of QMP that does all that a broken one may do. */
import { once } from 'node:events';
import { symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { connectProgram } from '../../../../src/run/nodes/qemu/program-socket.js';
import { QmpClient, QmpError, type QmpOptions } from '../../../../src/run/nodes/qemu/qmp.js';
import { patience } from '../../../support/patience.js';
import { qemuFiles } from '../../../support/qemu-files.js';
import { scratchFolder } from '../../../support/scratch.js';

type Message = Record<string, unknown>;
type Answering = (message: Message, socket: Socket) => void;

const GREETING = '{"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": []}}\r\n';
const MEBI = 1024 * 1024;

const say = (socket: Socket, message: Message): void => {
  socket.write(`${JSON.stringify(message)}\r\n`);
};

/** A server that takes the first command and answers the others by the function. */
async function serve(t: Test, answer: Answering, greeting = GREETING) {
  const path = join(scratchFolder(t), 'qmp');
  const commands: Message[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(greeting);
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString();
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const message = JSON.parse(text.slice(0, end)) as Message;
        text = text.slice(end + 1);
        commands.push(message);
        if (message['execute'] === 'qmp_capabilities') say(socket, { return: {}, id: message['id'] });
        else answer(message, socket);
      }
    });
  });
  server.listen(path);
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { path, commands, sockets };
}

async function open(t: Test, path: string, more: Partial<QmpOptions> = {}): Promise<QmpClient> {
  const client = await QmpClient.open(await connectProgram(qemuFiles, path), {
    onEvent: () => undefined,
    ...more,
  });
  t.teardown(() => {
    client.close();
  });
  return client;
}

void t.test(
  'answers belong to their commands, in any order, and refusals are sentences of QEMU',
  async (t) => {
    const waiting: Message[] = [];
    const { path, commands } = await serve(t, (message, socket) => {
      waiting.push(message);
      if (waiting.length < 3) return;
      const [first, second, third] = waiting;
      say(socket, { return: { status: 'third' }, id: third?.['id'] });
      say(socket, { error: { class: 'GenericError', desc: 'Device not found' }, id: second?.['id'] });
      say(socket, { return: { status: 'nobody waits' }, id: 99 });
      say(socket, { return: { status: 'first' }, id: first?.['id'] });
    });
    const client = await open(t, path);
    const [first, second, third] = await Promise.allSettled([
      client.execute('query-status'),
      client.execute('set_link', { name: 'gns3-0', up: false }),
      client.execute('stop'),
    ]);
    t.match(first, { value: { status: 'first' } });
    t.match(second, { reason: new QmpError('Device not found') });
    t.match(third, { value: { status: 'third' } });
    t.match(commands[2], { execute: 'set_link', arguments: { name: 'gns3-0', up: false } });
  },
);

void t.test('lines may come in any pieces, several at once, and with events between them', async (t) => {
  const events: unknown[] = [];
  const text = [
    '{"timestamp": {"seconds": 1}, "event": "STOP"}',
    '',
    '{"event": "BLOCK_IO_ERROR", "data": {"action": "stop", "reason": "höchst voll"}}',
    '{"return": {"done": "ä"}, "id": 2}',
  ].join('\r\n');
  const bytes = Buffer.from(`${text}\r\n`);
  for (const size of [1, 2, 7, bytes.length]) {
    const { path } = await serve(t, (_, socket) => {
      void (async () => {
        for (let at = 0; at < bytes.length; at += size) {
          socket.write(bytes.subarray(at, at + size));
          await new Promise(setImmediate);
        }
      })();
    });
    const client = await open(t, path, { onEvent: (...event) => events.push(event) });
    t.same(await client.execute('stop'), { done: 'ä' });
    const data = { action: 'stop', reason: 'höchst voll' };
    t.same(events.splice(0), [
      ['STOP', {}],
      ['BLOCK_IO_ERROR', data],
    ]);
  }
});

void t.test('a line that is no QMP ends the connection, and all who wait are told', async (t) => {
  const faults: readonly (string | Buffer)[] = [
    'no JSON\r\n',
    '[1, 2]\r\n',
    '"text"\r\n',
    '{"nothing": "known"}\r\n',
    Buffer.alloc(MEBI + 2, 'x'),
    Buffer.from([0xff, 0xfe, 0x0a]),
  ];
  for (const fault of faults) {
    const { path } = await serve(t, (_, socket) => socket.write(fault));
    const client = await open(t, path);
    await t.rejects(client.execute('stop'), { message: 'QEMU has closed its control socket' });
    await client.closed;
    await t.rejects(client.execute('stop'), { message: 'QEMU has closed its control socket' });
  }
});

void t.test('a server that does not greet, does not answer, or is not there is not waited for', async (t) => {
  const silent = await serve(t, () => undefined, '');
  await t.rejects(open(t, silent.path, { answerMs: 50 }), { message: 'QEMU does not greet' });
  const deaf = await serve(t, () => undefined);
  const client = await open(t, deaf.path, { answerMs: patience(500) });
  await t.rejects(client.execute('stop'), { message: 'QEMU does not answer the command stop' });
  await t.rejects(open(t, `${deaf.path}-other`), { code: 'ENOENT' });
  const waiting = client.execute('cont');
  for (const socket of deaf.sockets) socket.destroy();
  await t.rejects(waiting);
});

void t.test('a link in the place of the socket is not followed, and a file there is no socket', async (t) => {
  const { path, sockets } = await serve(t, () => undefined);
  const folder = scratchFolder(t);
  symlinkSync(path, join(folder, 'link'));
  writeFileSync(join(folder, 'file'), '');
  for (const name of ['link', 'file'])
    await t.rejects(connectProgram(qemuFiles, join(folder, name)), { message: /is no socket/ });
  t.equal(sockets.size, 0);
});
