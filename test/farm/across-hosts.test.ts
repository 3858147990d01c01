/** Links between hosts that are really others: two computes in network namespaces, and the controller beside them. */
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { farHosts } from '../support/far-hosts.js';
import { lackForNamespaces } from '../support/network-namespace.js';
import { NotificationLog } from '../support/notification-log.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { StockCompute } from '../support/stock-compute.js';

type Json = Record<string, unknown>;

const skip = lackForNamespaces();

void t.test('computes in namespaces', { skip }, async (t) => {
  const [b, c] = farHosts(t, {
    first: { near: 1500, far: 9000 },
    second: { near: 9000, far: 9000 },
    between: { near: 1500, far: 1500 },
  });
  const controller = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
  const client = new Client(controller.url);
  const far = ['--host', '0.0.0.0', '--open', '--nio-networks', 'any'];
  const [atB, atC] = await Promise.all([
    startServer(t, { namespace: b.namespace.name, flags: far }),
    startServer(t, { namespace: c.namespace.name, flags: far }),
  ]);
  const events = await NotificationLog.open(`${controller.url}/v2/notifications`);
  t.teardown(() => {
    events.close();
  });

  /** The way from one compute to another, once it has been tried. */
  async function pathBetween(one: string, other: string): Promise<Json> {
    return eventually(`the way from ${one} to ${other}`, async () => {
      const { body } = await client.get(`/v2/computes/${one}/paths`);
      return (body as Json[]).find(({ compute_id: id, probed_at: at }) => id === other && at !== null);
    });
  }

  async function record(id: string, host: string, port: number): Promise<void> {
    const place = { compute_id: id, name: `host ${id}`, protocol: 'http', host, port };
    await client.expect(201, 'POST', '/v2/computes', place);
  }

  await t.test('each pair of hosts is tried with frames that must not be cut', async (t) => {
    await record('b', b.address, atB.port);
    // Its own end of the link has room for more: that nothing comes through is found out by trying.
    t.match(await pathBetween('b', 'local'), {
      ...{ state: 'slow', largest_frame: 1472, route_mtu: 9000, reason: null },
      ...{ address: b.address, far_address: b.ownAddress },
    });
    await events.next(
      ({ action, event }) =>
        action === 'log.warning' && /host b .* will be slow/.test(String(event['message'])),
    );
    await record('c', c.address, atC.port);
    t.match(await pathBetween('local', 'c'), { state: 'whole', largest_frame: 1514, name: 'host c' });
    t.match(await pathBetween('c', 'b'), {
      ...{ state: 'slow', largest_frame: 1472, route_mtu: 1500 },
      ...{ address: c.address, far_address: b.address },
    });
    t.match(await client.get('/v2/computes/nowhere/paths'), { status: 404 });
  });

  await t.test('a way to a compute of GNS3 is told as its peers know it', async (t) => {
    const stock = await StockCompute.start();
    t.teardown(() => stock.stop());
    c.namespace.ip('link', 'set', 'wire', 'mtu', '1500');
    await record('s', '127.0.0.1', stock.port);
    t.match(await pathBetween('c', 's'), { state: 'slow', largest_frame: null, route_mtu: 1500 });
    c.namespace.ip('link', 'set', 'wire', 'mtu', '9000');
    t.match(await pathBetween('s', 'b'), {
      ...{ state: 'unknown', largest_frame: null, route_mtu: 9000 },
      reason: /echoes no datagrams/,
    });
    await client.expect(204, 'DELETE', '/v2/computes/s');
  });

  await t.test('an echo answers to who knows its word, for as long as it lasts', async (t) => {
    const its = new Client(`http://${b.address}:${atB.port}`);
    const echo = await its.expect(200, 'POST', '/v2/compute/tunnel/echo', { towards: b.ownAddress });
    const own = new Client(controller.url);
    const probe = (word: unknown): Promise<Json> =>
      own.expect(200, 'POST', '/v2/compute/tunnel/probe', {
        host: b.address,
        echo: { udp_port: echo['udp_port'], word },
      });
    t.match(await probe('0'.repeat(32)), { largest_frame: 0 });
    t.match(await probe(echo['word']), { largest_frame: 1472 });
    t.match(await own.post('/v2/compute/tunnel/probe', { host: 'a.name' }), { status: 400 });
    t.match(await own.post('/v2/compute/tunnel/probe', { host: '224.0.0.1', echo }), { status: 409 });
    await eventually('the port of the echo is free again', async () => {
      const { udp_ports: ports } = await its.expect(200, 'GET', '/v2/compute/network/ports');
      return (ports as number[]).length === 0 ? true : undefined;
    });
  });
});
