/** The GNS3 VM, which this server does not need. */
import t from 'tap';
import { Client } from '../support/client.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const DEFAULTS = {
  allocate_vcpus_ram: true,
  enable: false,
  engine: 'vmware',
  headless: false,
  port: 80,
  ram: 2048,
  vcpus: 1,
  vmname: null,
  when_exit: 'stop',
};

void t.test('the settings are those of the reference, and a part of them may be changed', async (t) => {
  t.strictSame((await client.get('/v2/gns3vm')).body, DEFAULTS);
  const changed = { ...DEFAULTS, engine: 'virtualbox', vmname: 'GNS3 VM', when_exit: 'keep' };
  t.strictSame((await client.put('/v2/gns3vm', changed)).body, changed);
  t.match(await client.put('/v2/gns3vm', { ram: 4096 }), { status: 201, body: { ...changed, ram: 4096 } });
  t.match(await client.put('/v2/gns3vm', { when_exit: 'explode' }), { status: 400 });
  t.strictSame((await client.get('/v2/gns3vm')).body, { ...changed, ram: 4096 });
});

void t.test('it cannot be enabled, and a refused request changes nothing', async (t) => {
  const before = (await client.get('/v2/gns3vm')).body;
  t.match(await client.put('/v2/gns3vm', { ...DEFAULTS, enable: true, ram: 1 }), {
    status: 409,
    body: {
      code: 'virtual_machine_unavailable',
      message: 'The GNS3 VM is not available: this server runs nodes on its own host. Leave it disabled',
    },
  });
  t.strictSame((await client.get('/v2/gns3vm')).body, before);
});

void t.test('its engines are listed, and have no virtual machines', async (t) => {
  const engines = (await client.get('/v2/gns3vm/engines')).body as { engine_id: string }[];
  t.same(
    engines.map(({ engine_id: id }) => id),
    ['vmware', 'virtualbox', 'remote'],
  );
  for (const { engine_id: id } of engines)
    t.strictSame((await client.get(`/v2/gns3vm/engines/${id}/vms`)).body, []);
  t.match(await client.get('/v2/gns3vm/engines/magic/vms'), {
    status: 404,
    body: { message: "GNS3 VM engine magic doesn't exist" },
  });
});

void t.test('the settings outlive the server', async (t) => {
  const { body: before } = await client.put('/v2/gns3vm', { vmname: 'kept' });
  t.match(before, { vmname: 'kept' });
  await server.stop();
  const next = await startServer(t, { data: server.data });
  t.strictSame((await new Client(next.url).get('/v2/gns3vm')).body, before);
});
