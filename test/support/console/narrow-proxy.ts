/** A proxy of plain requests, which lets no WebSocket pass until it is widened: many of those between people and servers are so. */
import { createServer, request } from 'node:http';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import type { Teardown } from '../scratch.js';

export async function narrowProxy(
  t: Teardown,
  port: number,
): Promise<{ readonly url: string; widen(): string[] }> {
  const proxy = createServer((asked, answer) => {
    const { method, url, headers } = asked;
    const passed = request({ port, host: '127.0.0.1', method, path: url, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      // A head that waits for its body would keep silent streams from their readers.
      answer.flushHeaders();
      reply.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  let isWide = false;
  /** The addresses of the WebSockets that have passed. */
  const passed: string[] = [];
  proxy.on('upgrade', ({ url, rawHeaders }, socket) => {
    if (!isWide) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    passed.push(url ?? '');
    const server = connect(port, '127.0.0.1');
    const lines = rawHeaders.map((word, index) => (index % 2 === 0 ? `${word}: ` : `${word}\r\n`));
    server.write(`GET ${url ?? ''} HTTP/1.1\r\n${lines.join('')}\r\n`);
    server.pipe(socket).pipe(server);
    for (const [one, other] of [[socket, server] as const, [server, socket] as const])
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    t.teardown(() => socket.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    widen: () => {
      isWide = true;
      return passed;
    },
  };
}
