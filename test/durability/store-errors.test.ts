/** A disk that cannot be written refuses changes with 503, and nothing else happens. */
import t from 'tap';
import { Client } from '../support/client.js';
import { dropPlan, FAULTS, layPlan } from '../support/fault-plan.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const INJECTION = new URL('../support/fault-injection.js', import.meta.url).href;

void t.test('a failing write or sync of the store is a 503, and the next change works', async (t) => {
  const faults = scratchFolder(t);
  const environment = { NODE_OPTIONS: `--import=${INJECTION}`, [FAULTS]: faults };
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const template = { template_type: 'ethernet_switch', compute_id: 'local' };
  await client.expect(201, 'POST', '/v2/templates', { ...template, name: 'first' });
  const before = (await client.get('/v2/templates')).text;
  for (const at of [1, 2]) {
    layPlan(faults, { run: `run-${at}`, of: 'changes', at, mode: 'EIO' });
    const reply = await client.post('/v2/templates', { ...template, name: `refused ${at}` });
    dropPlan(faults);
    t.match(reply, {
      status: 503,
      body: { status: 503, message: /could not be written \(EIO\): nothing was changed/ },
    });
    t.equal((await client.get('/v2/templates')).text, before, 'reads go on');
  }
  await client.expect(201, 'POST', '/v2/templates', { ...template, name: 'last' });
  const after = (await client.get('/v2/templates')).text;
  await server.stop('SIGKILL');
  const again = await startServer(t, { data: server.data });
  t.equal(
    (await new Client(again.url).get('/v2/templates')).text,
    after,
    'and a kill changes nothing of that',
  );
  t.equal(await again.stop(), 0);
});
