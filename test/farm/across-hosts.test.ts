/**
 * Links between hosts that are really others: two computes in network namespaces, and the controller beside them. Both have an
 * address for tunnels that is not the one at which they are asked, and let nobody lead links anywhere.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { nioPath } from '../support/compute-lab.js';
import { farHosts, type FarHost } from '../support/far-hosts.js';
import { lackForNamespaces, sweep } from '../support/network-namespace.js';
import { NodeLab, type Json } from '../support/node-lab.js';
import { NotificationLog } from '../support/notification-log.js';
import { patience } from '../support/patience.js';
import { scratchFolder } from '../support/scratch.js';
import { MAIN, ownConsolePorts, startServer, type ServerProcess } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';
import { StockCompute } from '../support/stock-compute.js';

const RUNBOOK_PAGE = 'docs/runbook/frames-lost.md';
const losses = (sample: string): string => `wirefarm_link_lost_between_hosts_total${sample}`;

const skip = lackForNamespaces();

void t.test('computes in namespaces', { skip }, async (t) => {
  const [b, c] = farHosts(t, {
    first: { near: 1500, far: 9000 },
    second: { near: 9000, far: 9000 },
    between: { near: 1500, far: 1500 },
  });
  const tunnels = { b: '198.18.82.1', c: '198.18.82.2' };
  giveAddress(b, tunnels.b);
  giveAddress(c, tunnels.c);
  b.namespace.ip('route', 'add', `${tunnels.c}/32`, 'dev', 'side');
  c.namespace.ip('route', 'add', `${tunnels.b}/32`, 'dev', 'side');
  const controller = await startServer(t, {
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
    flags: ['--nio-networks', '127.0.0.0/8'],
  });
  const client = new Client(controller.url);
  const serverAt = ({ namespace }: FarHost, tunnelAddress: string): Promise<ServerProcess> =>
    startServer(t, {
      namespace: namespace.name,
      environment: { WIREFARM_PASSWORD: 'hush' },
      flags: [
        ...['--host', '0.0.0.0', '--user', 'ann', '--nio-networks', '127.0.0.0/8'],
        ...['--tunnel-address', tunnelAddress],
      ],
    });
  const [atB, atC] = await Promise.all([serverAt(b, tunnels.b), serverAt(c, tunnels.c)]);
  const authorization = `Basic ${Buffer.from('ann:hush').toString('base64')}`;
  const clientOf = (host: FarHost, { port }: ServerProcess): Client =>
    new Client(`http://${host.address}:${port}`, { authorization });
  const [itsB, itsC] = [clientOf(b, atB), clientOf(c, atC)];
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
    const place = {
      compute_id: id,
      name: `host ${id}`,
      protocol: 'http',
      host,
      port,
      user: 'ann',
      password: 'hush',
    };
    await client.expect(201, 'POST', '/v2/computes', place);
  }

  await t.test('each pair of hosts is tried with frames that must not be cut', async (t) => {
    await record('b', b.address, atB.port);
    // Its own end of the link has room for more: that nothing comes through is found out by trying.
    t.match(await pathBetween('b', 'local'), {
      ...{ state: 'slow', largest_frame: 1472, route_mtu: 9000, reason: null },
      ...{ address: tunnels.b, far_address: b.ownAddress },
    });
    t.match(await client.get('/v2/computes/b'), { body: { host: b.address } });
    await events.next(
      ({ action, event }) =>
        action === 'log.warning' && /host b .* will be slow/.test(String(event['message'])),
    );
    await record('c', c.address, atC.port);
    t.match(await pathBetween('local', 'c'), { state: 'whole', largest_frame: 1514, name: 'host c' });
    t.match(await pathBetween('c', 'b'), {
      ...{ state: 'slow', largest_frame: 1472, route_mtu: 1500 },
      ...{ address: tunnels.c, far_address: tunnels.b },
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
    const echo = await itsB.expect(200, 'POST', '/v2/compute/tunnel/echo', { towards: b.ownAddress });
    const own = new Client(controller.url);
    const probe = (word: unknown): Promise<Json> =>
      own.expect(200, 'POST', '/v2/compute/tunnel/probe', {
        host: tunnels.b,
        echo: { udp_port: echo['udp_port'], word },
      });
    t.match(await probe('0'.repeat(32)), { largest_frame: 0 });
    t.match(await probe(echo['word']), { largest_frame: 1472 });
    t.match(await own.post('/v2/compute/tunnel/probe', { host: 'a.name' }), { status: 400 });
    t.match(await own.post('/v2/compute/tunnel/probe', { host: '224.0.0.1', echo }), { status: 409 });
    await eventually('the port of the echo is free again', async () => {
      const { udp_ports: ports } = await itsB.expect(200, 'GET', '/v2/compute/network/ports');
      return (ports as number[]).length === 0 ? true : undefined;
    });
  });

  const lab = await NodeLab.make(t, controller);
  const hubs = [
    await lab.node('ethernet_hub', 'HERE'),
    await lab.node('ethernet_hub', 'B', {}, { compute_id: 'b' }),
    await lab.node('ethernet_hub', 'C', {}, { compute_id: 'c' }),
  ] as const;
  const [here, hubB, hubC] = hubs;

  const links: { near?: Json; far?: Json } = {};
  const peer = await UdpPeer.open(t);
  let entrance = 0;
  const send = (count: number): Promise<void> =>
    peer.send(entrance, Array<Uint8Array>(count).fill(Buffer.alloc(60, 1)));

  await t.test('links are between the addresses for tunnels, which no setting allows', async (t) => {
    links.near = await lab.link([here, 0], [hubB, 0]);
    links.far = await lab.link([hubB, 1], [hubC, 0]);
    const ends = (host: FarHost): string[] =>
      host.namespace.inside(() => udpEnds(readFileSync('/proc/thread-self/net/udp', 'latin1')));
    t.strictSame(ends(b).sort(), [`${tunnels.b} ${b.ownAddress}`, `${tunnels.b} ${tunnels.c}`]);
    t.strictSame(ends(c), [`${tunnels.c} ${tunnels.b}`]);
    const { udp_port: lport } = await client.expect(201, 'POST', `/v2/compute/projects/${lab.id}/ports/udp`);
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: peer.port };
    await client.expect(201, 'POST', nioPath(computePath(lab, here), 5), nio);
    entrance = Number(lport);
    await send(10);
    await eventually('all frames have come to the last hub', async () => {
      const { body } = await itsC.get(`${computePath(lab, hubC)}/statistics`);
      const [first] = (body as { ports: { counters: { frames_in: number } }[] }).ports;
      return first?.counters.frames_in === 10 || undefined;
    });
  });

  await t.test('frames that are lost between hosts are counted, also where no end is here', async (t) => {
    const [near, far] = [links.near?.['link_id'], links.far?.['link_id']].map(String);
    /** Frames from the first end to the second, and lost ones, of both links. */
    const seen = async (): Promise<unknown> => {
      const { columns, links: all } = await client.expect(200, 'GET', `${lab.path}/traffic`);
      const places = ['forward_frames', 'lost_between_hosts'].map((name) =>
        (columns as string[]).indexOf(name),
      );
      return [near, far].map((id) => {
        const counts = (all as Record<string, number[]>)[id ?? ''] ?? [];
        return places.map((place) => counts[place]);
      });
    };
    const sees = (what: unknown): Promise<boolean> =>
      eventually(`the traffic is ${JSON.stringify(what)}`, async () =>
        JSON.stringify(await seen()) === JSON.stringify(what) ? true : undefined,
      );
    await sees([
      [10, 0],
      [10, 0],
    ]);
    // The next host throws away what is for an Ethernet address that it does not have, and tells nobody.
    const astray = ['lladdr', '02:00:00:00:00:99', 'nud', 'permanent', 'dev'];
    b.namespace.ip('neigh', 'replace', tunnels.c, ...astray, 'side');
    await send(7);
    await sees([
      [17, 0],
      [17, 7],
    ]);
    b.namespace.ip('neigh', 'del', tunnels.c, 'dev', 'side');
    const [, device = ''] = / dev (\S+)/.exec(route('get', b.address)) ?? [];
    route('replace', `${tunnels.b}/32`, 'dev', device);
    execFileSync('ip', ['neigh', 'replace', tunnels.b, ...astray, device]);
    await send(5);
    await sees([
      [22, 5],
      [17, 7],
    ]);
    execFileSync('ip', ['neigh', 'del', tunnels.b, 'dev', device]);
    await send(3);
    await sees([
      [25, 5],
      [20, 7],
    ]);
    // Counters that begin anew take nothing back, and add nothing.
    await itsC.expect(204, 'DELETE', `${computePath(lab, hubC)}/statistics`);
    await send(4);
    await sees([
      [29, 5],
      [24, 7],
    ]);
    const { text } = await client.get(`/metrics/links?project=${lab.id}`);
    t.match(text, `wirefarm_link_lost_between_hosts_total{link="${far}"} 7`);
    t.match(text, `wirefarm_link_frames_total{link="${far}",direction="forward"} 24`);
    const page = readFileSync(RUNBOOK_PAGE, 'utf8');
    const [, command = ''] = /## Between hosts\n.*?```sh\n(.*?)```/s.exec(page) ?? [];
    const env = { ...process.env, url: `${controller.url}/v2`, project: lab.id };
    const lines = execFileSync('bash', ['-c', command], { env, encoding: 'utf8' }).trim().split('\n');
    t.strictSame(lines.sort(), [`{link="${near}"} 5`, `{link="${far}"} 7`].map(losses).sort());
  });

  await t.test('an address is allowed as long as it is that of a host on record', async (t) => {
    const { udp_port: lport } = await itsB.expect(201, 'POST', `/v2/compute/projects/${lab.id}/ports/udp`);
    const at = nioPath(computePath(lab, hubB), 5);
    const tryTo = (rhost: string) => itsB.post(at, { type: 'nio_udp', lport, rhost, rport: 9 });
    const refused = { status: 409, body: { message: /outside of the networks/ } };
    t.match(await tryTo('198.18.82.3'), refused);
    t.match(await tryTo(c.address), refused, 'it is asked there, and no link leads there');
    t.match(await tryTo(tunnels.c), { status: 201 });
    await itsB.expect(204, 'DELETE', at);
    await client.expect(204, 'DELETE', '/v2/computes/c');
    await eventually('the deleted host is allowed no more', async () => {
      const { udp_port: other } = await itsB.expect(201, 'POST', `/v2/compute/projects/${lab.id}/ports/udp`);
      const { status } = await itsB.post(at, { type: 'nio_udp', lport: other, rhost: tunnels.c, rport: 9 });
      if (status === 201) await itsB.expect(204, 'DELETE', at);
      return status === 409 || undefined;
    });
    t.match(
      await client.put('/v2/compute/tunnel/hosts', { controller: lab.id, addresses: ['198.18.82.3'] }),
      { status: 403, body: { message: /it has no users/ } },
      'where nobody signs in nobody names hosts',
    );
  });

  await t.test('a server does not start with an address for tunnels that it does not have', (t) => {
    const args = ['--data', scratchFolder(t), '--tunnel-address', '198.18.82.3'];
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
      encoding: 'utf8',
      timeout: patience(20_000),
    });
    t.equal(status, 1);
    t.match(stderr, /no interface of this host has the address 198\.18\.82\.3/);
    t.end();
  });
});

void t.test('namespaces of tests that were killed are removed, and no others', { skip }, (t) => {
  const { pid } = spawnSync('true');
  const [left, kept] = [`wirefarm-${pid}-1`, `wirefarm-${process.pid}-kept`];
  for (const name of [left, kept]) execFileSync('ip', ['netns', 'add', name]);
  sweep();
  const names = readdirSync('/run/netns');
  execFileSync('ip', ['netns', 'del', kept]);
  t.notOk(names.includes(left));
  t.ok(names.includes(kept));
  t.end();
});

/** An address that is not the one of the link to the host. */
function giveAddress({ namespace, address }: FarHost, more: string): void {
  namespace.ip('addr', 'add', `${more}/32`, 'dev', 'lo');
  route('add', `${more}/32`, 'via', address);
}

function route(...words: readonly string[]): string {
  return execFileSync('ip', ['route', ...words], { encoding: 'utf8' });
}

function computePath(lab: NodeLab, { node_id: id, node_type: type }: Json): string {
  return `/v2/compute/projects/${lab.id}/${String(type)}/nodes/${String(id)}`;
}

/** The addresses of connected UDP sockets, as the kernel lists them. */
function udpEnds(table: string): string[] {
  return table.split('\n').flatMap((line) => {
    const [, near, far] = /^ *\d+: ([\dA-F]{8}):[\dA-F]{4} ([\dA-F]{8}):[\dA-F]{4} /.exec(line) ?? [];
    return near === undefined || far === undefined || far === '00000000'
      ? []
      : [[near, far].map(addressOf).join(' ')];
  });
}

/** The kernel writes addresses in the order of the processor. */
function addressOf(hex: string): string {
  return [...Buffer.from(hex, 'hex')].reverse().join('.');
}
