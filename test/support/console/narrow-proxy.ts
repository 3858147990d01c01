/** A proxy of plain requests, which lets no WebSocket pass: many of those between people and servers are so. */
import { createServer, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Teardown } from '../scratch.js';

export async function narrowProxy(t: Teardown, port: number): Promise<{ readonly url: string }> {
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
  proxy.on('upgrade', (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}
