/** Uploads that are refused by what their head says: clients that send all before they look are told why. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { Client } from '../support/client.js';
import { jsonOf, rawRequest } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const body = Buffer.alloc(24 * 1024 * 1024, 1);

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
    const reply = await rawRequest(server.port, 'POST', path, { body });
    t.equal(reply.status, status, path);
    t.match(jsonOf(reply), { status, message });
  }
});
