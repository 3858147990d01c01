/** This server as a compute: version, capabilities, ports, interfaces and its own notifications. */
import { once } from 'node:events';
import { networkInterfaces, totalmem } from 'node:os';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { CONSOLE_PORTS_BY_DEFAULT, ownUdpPorts, startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const firstPort = ownUdpPorts();
const lastPort = firstPort + 3;
const server = await startServer(t, {
  flags: ['--udp-ports', `${firstPort}-${lastPort}`],
  environment: CONSOLE_PORTS_BY_DEFAULT,
});
const client = new Client(server.url);

void t.test('the version is told as the controller tells it', async (t) => {
  t.strictSame((await client.get('/v2/compute/version')).body, (await client.get('/v2/version')).body);
});

void t.test('running things are described in the words of the controller', async (t) => {
  const { capabilities } = await client.expect(200, 'GET', '/v2/computes/local');
  t.strictSame((await client.get('/v2/compute/capabilities')).body, capabilities);
});

void t.test('statistics tell how busy the host is, of each compute and of this one', async (t) => {
  const [first, ...others] = (await client.get('/v2/statistics')).body as Json[];
  t.same(others, []);
  const { name } = await client.expect(200, 'GET', '/v2/computes/local');
  t.match(first, { compute_id: 'local', compute_name: name });
  for (const figures of [
    first?.['statistics'],
    (await client.get('/v2/compute/statistics')).body,
  ] as Json[]) {
    const number = (key: string): number => Number(figures[key]);
    t.equal(number('memory_total'), totalmem());
    t.equal(number('memory_used') + number('memory_free'), number('memory_total'));
    t.ok(number('memory_used') > 0);
    t.equal(number('swap_used') + number('swap_free'), number('swap_total'));
    t.ok(number('disk_usage_percent') >= 0 && number('disk_usage_percent') <= 100);
  }
});

void t.test('the ports that are given out are told on both sides, in order', async (t) => {
  const lab = await ComputeLab.open(client);
  t.same([await lab.udpPort(), await lab.udpPort()], [firstPort, firstPort + 1]);
  for (const path of [
    '/v2/compute/network/ports',
    '/v2/computes/local/ports',
    '/v2/computes/local/network/ports',
  ]) {
    t.strictSame((await client.get(path)).body, {
      console_port_range: [5000, 10_000],
      console_ports: [],
      udp_port_range: [firstPort, lastPort],
      udp_ports: [firstPort, firstPort + 1],
    });
  }
  t.same([await lab.udpPort(), await lab.udpPort()], [firstPort + 2, lastPort]);
  t.match(await client.post(`${lab.path}/ports/udp`), {
    status: 409,
    body: {
      message: new RegExp(
        `^Could not find a free port between ${firstPort} and ${lastPort} on host 0\\.0\\.0\\.0, last exception: .`,
      ),
    },
  });
  await lab.close();
  const { udp_ports: held } = await client.expect(200, 'GET', '/v2/compute/network/ports');
  t.strictSame(held, []);
});

void t.test('the interfaces of this host are told on both sides, by name', async (t) => {
  const reply = await client.get('/v2/compute/network/interfaces');
  const interfaces = reply.body as Json[];
  const names = interfaces.map(({ name }) => name);
  t.same(names, names.toSorted());
  for (const name of Object.keys(networkInterfaces())) t.ok(names.includes(name), name);
  t.match(
    interfaces.find(({ name }) => name === 'lo'),
    { id: 'lo', ip_address: '127.0.0.1', netmask: '255.0.0.0', special: true, type: 'ethernet' },
  );
  t.strictSame((await client.get('/v2/computes/local/network/interfaces')).body, reply.body);
  t.equal((await client.get('/v2/computes/none/network/interfaces')).status, 404);
  await client.expect(201, 'POST', '/v2/computes', {
    compute_id: 'second',
    name: 'Second',
    protocol: 'http',
    host: 'h',
    port: 1,
  });
  t.match(await client.get('/v2/computes/second/network/interfaces'), {
    status: 409,
    body: { message: "Cannot connect to compute 'Second' with request GET /network/interfaces" },
  });
});

void t.test('changes of nodes are told with the project, and a ping every second without one', async (t) => {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v2/compute/notifications/ws`);
  const told: (Json & { at: number })[] = [];
  socket.on('message', (data: Buffer) => {
    told.push({ ...(JSON.parse(data.toString()) as Json), at: Date.now() });
  });
  await once(socket, 'message');
  const first = told[0];
  t.match(first, { action: 'ping', event: { cpu_usage_percent: Number, memory_usage_percent: Number } });
  t.notOk(first !== undefined && 'project_id' in first);

  const lab = await ComputeLab.open(client);
  const node = await lab.node('atm_switch', { name: 'one' });
  const changed = await client.expect(200, 'PUT', node, { name: 'two' });
  for (const action of ['start', 'stop', 'suspend', 'reload']) {
    await client.expect(204, 'POST', `${node}/${action}`);
  }
  await client.expect(204, 'DELETE', node);
  const ethernet = await lab.node('ethernet_switch', { name: 'eth' });
  await client.expect(200, 'PUT', ethernet, { console_type: 'telnet' });
  while (told.at(-1)?.['action'] !== 'node.updated' || told.length < 5) await once(socket, 'message');
  const events = told.filter(({ action }) => action !== 'ping').map(({ at, ...event }) => event);
  t.match(events, [
    { action: 'node.updated', event: changed, project_id: lab.id },
    { action: 'node.deleted', event: changed, project_id: lab.id },
    {
      action: 'log.warning',
      event: { message: '"eth": Telnet access for switches is not available in this version of GNS3' },
      project_id: lab.id,
    },
    { action: 'node.updated', event: { console_type: 'telnet' }, project_id: lab.id },
  ]);
  t.equal(events.length, 4);

  const since = told.length;
  while (told.length < since + 2) await once(socket, 'message');
  const [before, after] = told.slice(-2);
  t.equal(after?.['action'], 'ping');
  const pause = (after?.at ?? 0) - (before?.at ?? 0);
  t.ok(pause > 800 && pause < 2000, `${pause} ms between two pings`);
  socket.close();
  await once(socket, 'close');
  t.equal((await client.get('/v2/compute/notifications/ws')).status, 400);
  await lab.close();
});
