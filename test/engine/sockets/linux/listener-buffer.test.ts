/** The buffers of the connections that a listening socket accepts. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import t from 'tap';
import { SO_RCVBUF, SOL_SOCKET } from '../../../../src/engine/sockets/linux/constants.js';
import { libc } from '../../../../src/engine/sockets/linux/libc.js';
import {
  boundConnectionBuffers,
  CONNECTION_BUFFER,
} from '../../../../src/engine/sockets/linux/listener-buffer.js';

const skip = process.platform === 'linux' ? false : 'these are calls of Linux';

/** The receive buffer of a socket of Node. */
function bufferOf(socket: Server | Socket): number {
  const { fd } = Reflect.get(socket, '_handle') as { fd: number };
  const value = new Int32Array(1);
  const octets = new Uint8Array(value.buffer);
  if (libc.getsockopt(fd, SOL_SOCKET, SO_RCVBUF, octets, new Uint32Array([4])) !== 0)
    throw new Error('no socket');
  return value[0] ?? 0;
}

void t.test('connections have bounded buffers, and only they', { skip }, async (t) => {
  const before = boundConnectionBuffers();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.not(bufferOf(server), 2 * CONNECTION_BUFFER);
  t.equal(boundConnectionBuffers(), before + 1, 'it is found');
  // The kernel grants twice what was asked for.
  t.equal(bufferOf(server), 2 * CONNECTION_BUFFER);
  const { port } = server.address() as { port: number };
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  const [connection] = await accepted;
  t.equal(bufferOf(connection), 2 * CONNECTION_BUFFER);
  const own = bufferOf(client);
  t.not(own, 2 * CONNECTION_BUFFER);
  boundConnectionBuffers();
  t.equal(bufferOf(client), own, 'a socket that does not listen is left as it is');
  client.destroy();
  connection.destroy();
  server.close();
  await once(server, 'close');
  t.equal(boundConnectionBuffers(), before);
});
