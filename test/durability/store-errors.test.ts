/** A disk that cannot be written refuses changes with 503, and nothing else happens. */
import t from 'tap';
import { Client } from '../support/client.js';
import { dropPlan, FAULTS, layPlan } from '../support/fault-plan.js';
import { end, LinkLab } from '../support/link-lab.js';
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

void t.test('a link that cannot be stored is not connected either, and can be made again', async (t) => {
  const faults = scratchFolder(t);
  const environment = { NODE_OPTIONS: `--import=${INJECTION}`, [FAULTS]: faults };
  const { url } = await startServer(t, { environment });
  const client = new Client(url);
  const lab = await LinkLab.make({ client, url });
  const [a, b] = [await lab.hub(), await lab.hub()];
  const udpPorts = async (): Promise<unknown> =>
    (await client.expect(200, 'GET', '/v2/compute/network/ports'))['udp_ports'];
  const news = await lab.told(async () => {
    layPlan(faults, { run: 'link', of: 'changes', at: 1, mode: 'EIO' });
    t.match(await lab.post([end(a, 0), end(b, 0)]), {
      status: 503,
      body: { message: /nothing was changed/ },
    });
    dropPlan(faults);
  });
  t.strictSame(news, []);
  t.strictSame(await lab.list(), []);
  t.strictSame(await udpPorts(), []);
  await lab.link([end(a, 0), end(b, 0)]);
  t.equal(((await udpPorts()) as unknown[]).length, 2);
});
