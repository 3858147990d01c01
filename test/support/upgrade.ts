import { WebSocket } from 'ws';

/** How an upgrade is answered: 101 when it succeeds. */
export async function upgrade(url: string, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(url.replace('http', 'ws'), { headers });
  const status = await new Promise<number>((resolve, reject) => {
    socket.on('open', () => {
      resolve(101);
    });
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
    });
    socket.on('error', reject);
  });
  socket.terminate();
  return status;
}
