/** The opening of WebSockets, beside other requests: connections come and go in the memory of the library. */
import { once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../support/client.js';
import { end, LinkLab } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';

const ROUNDS = 500;

void t.test('a WebSocket that was opened stays open', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const lab = await LinkLab.make({ client, url: server.url });
  await lab.link([end(await lab.hub(), 0), end(await lab.hub(), 0)]);
  const ends: unknown[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${lab.path}/pcap/ws`);
    const closed = once(socket, 'close');
    const first = await Promise.race([once(socket, 'message'), closed.then(([code]: unknown[]) => code)]);
    if (!Array.isArray(first)) ends.push(first);
    const others = Array.from({ length: round % 4 }, () => fetch(`${server.url}/v2/version`));
    socket.close();
    await Promise.all([closed, ...others]);
  }
  t.same(ends, []);
});
