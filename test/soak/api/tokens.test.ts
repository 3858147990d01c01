/** A token that is used very often. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { firstAdmin, signedIn } from '../../support/accounts.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { startServer } from '../../support/server-process.js';

void t.test('a token that is used ten thousand times writes nothing to the store', async (t) => {
  const server = await startServer(t);
  const admin = await firstAdmin(server);
  const { token: text } = await admin.expect(201, 'POST', '/v2/tokens', { name: 'for a test' });
  const client = new Client(server.url, { Authorization: `Bearer ${String(text)}` });
  const journal = (): { size: number; mtimeMs: number } => {
    const { size, mtimeMs } = statSync(join(server.data, 'state', 'journal'));
    return { size, mtimeMs };
  };
  await client.expect(200, 'GET', '/v2/version');
  await eventually('the audit has taken its entries out of the store', async () =>
    /^wirefarm_audit_waiting 0$/m.test((await admin.get('/metrics')).text) ? true : undefined,
  );
  const before = journal();
  for (let round = 0; round < 100; round++) {
    const replies = await Promise.all(Array.from({ length: 100 }, () => client.get('/v2/version')));
    t.ok(replies.every((reply) => reply.status === 200));
  }
  t.strictSame(journal(), before);
  await server.stop();
  const again = await startServer(t, { data: server.data });
  const [token] = (await signedIn(again, 'root').get('/v2/tokens')).body as { last_used_at: string | null }[];
  t.type(token?.last_used_at, 'string', 'the last use is written at the end');
});
