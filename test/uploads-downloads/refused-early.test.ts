/** Uploads that are refused by what their head says: clients that send all before they look are told why. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { Client } from '../support/client.js';
import { requestBytes } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const body = Buffer.alloc(24 * 1024 * 1024, 1);

/** Far longer than a refusal takes. */
const REFUSED_MS = 100;

/** Sends everything, and returns the first piece of the answer. Rejects when the connection ends before. */
async function sendThenRead(port: number, bytes: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      // The head by itself, so that it is refused before any of the body is there.
      socket.write(bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4), () => {
        setTimeout(() => {
          socket.write(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4), () => {
            resolve();
          });
        }, REFUSED_MS);
      });
    });
    const [reply] = (await once(socket, 'data')) as [Buffer];
    return reply.toString();
  } finally {
    socket.destroy();
  }
}

void t.test('the whole body is taken, and then the answer is read', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab' });
  const base = `/v2/projects/${String(project['project_id'])}`;
  const refused = [
    [409, `${base}/import`, /is here already/],
    [400, '/v2/projects/12/import', /not a valid UUID/],
    [403, `/v2/projects/${randomUUID()}/import?path=/tmp/elsewhere`, /The path is not allowed/],
    [404, `${base}/nodes/${randomUUID()}/files/a`, /Node ID/],
    [403, '/v2/compute/qemu/images/..%2fx', /would leave the images folder/],
  ] as const;
  for (const [status, path, message] of refused) {
    const reply = await sendThenRead(
      server.port,
      requestBytes('POST', path, { body, headers: { Connection: 'close' } }),
    );
    t.ok(reply.startsWith(`HTTP/1.1 ${status} `), path);
    t.match(reply, message);
  }
});
