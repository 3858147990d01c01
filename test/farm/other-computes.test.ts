/** Nodes and links on other computes: another Wirefarm, and one that answers as GNS3 2.2 does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { NodeLab, type Json } from '../support/node-lab.js';
import { NodeTerminal } from '../support/node-terminal.js';
import { NotificationLog } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../support/server-process.js';
import { StockCompute } from '../support/stock-compute.js';
import { missingVpcs } from '../support/vpcs.js';

const controller = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const client = new Client(controller.url);

/** Each counts 64 bytes of the 256 KiB that may wait. */
const MOST_EARLY_FRAMES = 4200;

const prompt = (name: string): RegExp => new RegExp(`${name}> $`);

/** Puts a compute on record, and waits until it is connected. */
async function record(id: string, port: number): Promise<void> {
  const place = { compute_id: id, name: `host ${id}`, protocol: 'http', host: '127.0.0.1', port };
  await client.expect(201, 'POST', '/v2/computes', place);
  await connected(id, true);
}

function connected(id: string, wanted: boolean): Promise<Json> {
  return eventually(`compute ${id} is ${wanted ? '' : 'not '}connected`, async () => {
    const shown = await client.expect(200, 'GET', `/v2/computes/${id}`);
    return shown['connected'] === wanted ? shown : undefined;
  });
}

const startsScript = (address: string): Json => ({ startup_script: `set pcname %h\nip ${address}/24\n` });

void t.test('virtual PCs on two hosts ping each other', { skip: missingVpcs() }, async (t) => {
  const data = scratchFolder(t);
  const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(1) };
  const compute = await startServer(t, { data, environment });
  await record('b', compute.port);
  const lab = await NodeLab.make(t, controller);
  const events = await NotificationLog.open(lab.events);
  t.teardown(() => {
    events.close();
  });
  const near = await lab.pc('PC1', '10.0.0.1');
  const nearSwitch = await lab.node('ethernet_switch', 'SW1');
  const farSwitch = await lab.node('ethernet_switch', 'SW2', {}, { compute_id: 'b' });
  const far = await lab.node('vpcs', 'PC2', startsScript('10.0.0.2'), { compute_id: 'b' });
  t.match(far, { status: 'stopped', console_host: '127.0.0.1', compute_id: 'b' });
  t.type(far['console'], 'number');
  await lab.link([near, 0], [nearSwitch, 0]);
  const across = await lab.link([farSwitch, 0], [nearSwitch, 1]);
  await lab.link([farSwitch, 1], [far, 0]);
  t.hasStrict(await lab.act(far, 'start'), { status: 'started' });

  const console = await lab.console(t, near);
  await console.until(prompt('PC1'));
  const reaches = (): Promise<boolean> => pings(console);
  const farConsole = await lab.console(t, far);
  await farConsole.until(prompt('PC2'));
  await eventually('the first ping', async () => ((await reaches()) ? true : undefined));

  await t.test('a link across is suspended, filtered, counted and captured at this end', async (t) => {
    const at = lab.linkAt(across);
    await client.expect(201, 'POST', `${at}/start_capture`, { capture_file_name: 'across.pcap' });
    await client.expect(201, 'PUT', at, { suspend: true });
    t.notOk(await reaches());
    await client.expect(201, 'PUT', at, { suspend: false, filters: { bpf: ['icmp'] } });
    t.notOk(await reaches());
    await client.expect(201, 'PUT', at, { filters: {} });
    t.ok(await reaches());
    await client.expect(201, 'POST', `${at}/stop_capture`);
    const { links } = await client.expect(200, 'GET', `${lab.path}/traffic`);
    const counts = (links as Record<string, number[]>)[String(across['link_id'])] ?? [];
    t.ok((counts[0] ?? 0) > 0 && (counts[2] ?? 0) > 0);
  });

  await t.test('the console of a node elsewhere is typed at and watched by way of this server', async (t) => {
    const watcher = await NodeTerminal.open(t, `${controller.url}${lab.at(far)}/console/ws?mode=watch`);
    await farConsole.ask('show ip', /IP\/MASK +: 10\.0\.0\.2\/24/);
    await watcher.until(/IP\/MASK +: 10\.0\.0\.2\/24/);
    await client.expect(204, 'POST', `${lab.at(far)}/console/reset`);
    await watcher.closed;
  });

  await t.test('files of a node elsewhere are written there and read, and whole or not at all', async (t) => {
    const at = `${lab.at(far)}/files`;
    const content = Buffer.alloc(300_000, 'what is in it');
    await client.expect(201, 'POST', `${at}/a folder/big%3F`, content);
    const stored = join(
      data,
      'projects',
      lab.id,
      `project-files/vpcs/${String(far['node_id'])}/a folder/big?`,
    );
    t.strictSame(readFileSync(stored), content);
    const read = (headers = {}): Promise<Response> =>
      fetch(`${controller.url}${at}/a%20folder/big%3F`, { headers });
    const whole = await read();
    t.strictSame(Buffer.from(await whole.arrayBuffer()), content);
    const part = await read({ range: 'bytes=5-7', 'if-range': whole.headers.get('etag') ?? '' });
    t.equal(part.status, 206);
    t.equal(await part.text(), content.toString('latin1', 5, 8));
    t.equal((await read({ 'if-none-match': whole.headers.get('etag') ?? '' })).status, 304);
    t.equal((await read({ range: 'bytes=900000-' })).status, 416);
    t.match(await client.get(`${at}/missing`), {
      status: 404,
      body: { message: /files\/vpcs\/.*\/missing not found/ },
    });
    t.match(await client.get(`${at}/..%2Fescape`), { status: 403 });
    t.match(await client.request('POST', `${at}/bad`, 'x', { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }), {
      status: 400,
    });
    t.match(await client.get(`${at}/bad`), { status: 404 });
    t.match(await client.get(at), { status: 409, body: { message: /other computes than this server: PC2/ } });
  });

  await t.test('nodes elsewhere are refused what only the own host can do, with a sentence', async (t) => {
    t.match(await client.post(`${lab.at(far)}/duplicate`, { x: 1, y: 1 }), {
      status: 409,
      body: { message: /not possible for nodes on other computes than this server: PC2/ },
    });
    t.match(await client.post(`${lab.path}/nodes`, { name: 'R', node_type: 'docker', compute_id: 'b' }), {
      status: 409,
    });
  });

  await t.test('a compute that is killed and returns runs again what it ran', async (t) => {
    await compute.stop('SIGKILL');
    await connected('b', false);
    await events.next(
      ({ action, event }) => action === 'log.warning' && String(event['message']).includes('out of reach'),
    );
    t.match(await client.post(`${lab.at(far)}/stop`), { status: 409 });
    // At another port: the old one may not be free yet.
    const again = await startServer(t, { data, environment });
    await client.expect(200, 'PUT', '/v2/computes/b', { port: again.port });
    await connected('b', true);
    await eventually('the ping after the return', async () => ((await reaches()) ? true : undefined));
    t.hasStrict(await lab.show(far), { status: 'started' });
    await lab.act(far, 'stop');
    await endOfLab(again);
  });

  /** The project is closed on the compute, too, and opens again there. */
  async function endOfLab(again: ServerProcess): Promise<void> {
    const its = new Client(again.url);
    const projects = async (): Promise<unknown> => (await its.get('/v2/compute/projects')).body;
    await client.expect(204, 'POST', `${lab.path}/close`);
    t.strictSame(await projects(), []);
    await client.expect(201, 'POST', `${lab.path}/open`);
    t.match(await projects(), [{ project_id: lab.id }]);
    await client.expect(204, 'DELETE', lab.at(far));
    await eventually('only the link of the switch is left', async () => {
      const { udp_ports: ports } = await its.expect(200, 'GET', '/v2/compute/network/ports');
      return (ports as number[]).length === 1 ? true : undefined;
    });
  }
});

async function pings(console: NodeTerminal): Promise<boolean> {
  console.type('ping 10.0.0.2 -c 1 -w 1000');
  return (await console.until(prompt('PC1'))).includes('icmp_seq=1 ttl=64');
}

void t.test('a compute of GNS3 is driven past its traps', async (t) => {
  const stock = await StockCompute.start();
  t.teardown(() => stock.stop());
  await record('s', stock.port);
  const lab = await NodeLab.make(t, controller);
  const project = stock.projects.get.bind(stock.projects, lab.id);
  const [one, two] = [
    await lab.node('vpcs', 'PC1', {}, { compute_id: 's' }),
    await lab.node('vpcs', 'PC2', {}, { compute_id: 's' }),
  ];
  const here = await lab.node('ethernet_switch', 'SW');
  t.match(one, {
    console: 5000,
    console_host: '127.0.0.1',
    node_directory: `/its/${String(one['node_id'])}`,
  });

  await t.test('a second NIO is refused there, so the first is removed before', async (t) => {
    const path = `/projects/${lab.id}/vpcs/nodes/${String(one['node_id'])}/adapters/0/ports/0/nio`;
    project()?.nios.set(path, { left: 'by a request whose answer was lost' });
    const link = await lab.link([one, 0], [two, 0]);
    t.match(project()?.nios.get(path), { type: 'nio_udp', rhost: '127.0.0.1', filters: {}, suspend: false });
    await client.expect(201, 'PUT', lab.linkAt(link), { suspend: true });
    t.match(project()?.nios.get(path), { filters: { frequency_drop: [-1] }, suspend: true });
    const events = await NotificationLog.open(lab.events);
    await client.expect(200, 'PUT', `${lab.linkAt(link)}/directed_filters`, { forward: { delay: [10, 0] } });
    const warned = await events.next(({ action }) => action === 'log.warning');
    t.match(warned.event['message'], /^Filters of one way do nothing on link /);
    events.close();
    await client.expect(204, 'DELETE', lab.linkAt(link));
    await eventually('no NIO', () => (project()?.nios.size === 0 ? true : undefined));
  });

  await t.test('a link there is captured, and its files and consoles are there', async (t) => {
    const link = await lab.link([one, 0], [two, 0]);
    const at = lab.linkAt(link);
    const port = `/projects/${lab.id}/vpcs/nodes/${String(two['node_id'])}/adapters/0/ports/0`;
    t.match(await client.post(`${at}/start_capture`), {
      status: 409,
      body: { message: /no running device/ },
    });
    await lab.act(two, 'start');
    t.match(await client.post(`${at}/start_capture`, { bpf: 'arp', files: 2, max_bytes: 200_000 }), {
      status: 409,
      body: { message: 'Compute host s is of GNS3 and cannot capture with bpf, files, max_bytes' },
    });
    const begun = await client.expect(201, 'POST', `${at}/start_capture`);
    const name = 'PC1_0-0_to_PC2_0-0.pcap';
    t.match(begun, { capturing: true, capture_compute_id: 's', capture_file_path: `/its/${name}` });
    t.strictSame([...stock.captures], [[port, { capture_file_name: name, data_link_type: 'DLT_EN10MB' }]]);
    t.match(await client.get(`${at}/capture`), { status: 409, body: { message: /does not tell the state/ } });
    stock.files.set(`/projects/${lab.id}/files/project-files/captures/${name}`, Buffer.from('packet'));
    t.match(await client.get(`${at}/capture/file`), { status: 200, text: 'packet' });

    const follows = (count: number): Promise<boolean> =>
      eventually(`${count} follow there`, () => (stock.streamsAt(port) === count ? true : undefined));
    for (const isHeard of [true, false]) {
      const leave = new AbortController();
      const asked = fetch(`${controller.url}${at}/pcap`, { signal: leave.signal });
      await follows(1);
      if (isHeard) {
        stock.record(port, Buffer.from('first'));
        const stream = (await asked).body as AsyncIterable<Uint8Array>;
        const first = await stream[Symbol.asyncIterator]().next();
        t.equal(Buffer.from(first.value as Uint8Array).toString(), 'first');
      }
      leave.abort();
      if (!isHeard) await t.rejects(asked, 'it had not been answered');
      await follows(0);
    }

    const file = `${lab.at(two)}/files/startup.vpc`;
    await client.expect(201, 'POST', file, 'ip 10.0.0.9/24');
    t.match(await client.get(file), { status: 200, text: 'ip 10.0.0.9/24' });
    const digest = { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' };
    t.match(await client.request('POST', file, 'x', digest), { status: 409 });
    const watcher = await NodeTerminal.open(t, `${controller.url}${lab.at(two)}/console/ws?mode=watch`);
    watcher.type('not this');
    const user = await lab.console(t, two);
    await user.ask('help', /PC1> help/);
    t.strictSame(stock.typed, ['help\r']);
    stock.hangsConsoles = true;
    const flood = await NodeTerminal.open(t, `${controller.url}${lab.at(two)}/console/ws`);
    for (let frame = 0; frame < MOST_EARLY_FRAMES; frame++) flood.press('');
    t.match(await flood.closed, [1013], 'frames without bytes wait, too');
    stock.hangsConsoles = false;

    await lab.act(two, 'stop');
    await eventually('the end of the capture', async () => {
      const { capturing } = await client.expect(200, 'GET', at);
      return capturing === false || undefined;
    });
    await client.expect(204, 'DELETE', at);
    await eventually('no NIO', () => (project()?.nios.size === 0 ? true : undefined));
  });

  await t.test('a port that was asked for in vain is used by the next link', async (t) => {
    const path = `/projects/${lab.id}/vpcs/nodes/${String(two['node_id'])}/adapters/0/ports/0/nio`;
    stock.instead.set(`POST ${path}`, { status: 409, body: { message: 'UbridgeError', status: 409 } });
    const nodes = [one, two].map(({ node_id }) => ({ node_id, adapter_number: 0, port_number: 0 }));
    const before = project()?.ports.size ?? 0;
    t.match(await client.post(`${lab.path}/links`, { nodes }), {
      status: 409,
      body: { message: /UbridgeError/ },
    });
    t.equal(project()?.nios.size, 0, 'the first end is undone');
    stock.instead.clear();
    await lab.link([two, 0], [here, 0]);
    t.equal(project()?.ports.size, before + 2);
  });

  await t.test('a compute that has forgotten everything is given it again, with fresh ports', async (t) => {
    await lab.act(two, 'start');
    const [before] = [...(project()?.nios.values() ?? [])];
    stock.forget();
    const nios = await eventually('the link is made again', () => {
      const { nios } = project() ?? {};
      return nios?.size === 1 ? [...nios.values()] : undefined;
    });
    t.not(nios[0]?.['lport'], before?.['lport']);
    t.match(project()?.nodes.get(String(two['node_id'])), { status: 'started' });
    t.match(project()?.nodes.get(String(one['node_id'])), { status: 'stopped' });
  });

  await t.test('a node that its compute refuses is not kept', async (t) => {
    const image = {
      exception: 'ImageMissingError',
      image: 'x',
      message: 'The image x is missing',
      status: 409,
    };
    stock.instead.set(`POST /projects/${lab.id}/vpcs/nodes`, { status: 409, body: image });
    t.match(await client.post(`${lab.path}/nodes`, { name: 'PC3', node_type: 'vpcs', compute_id: 's' }), {
      status: 409,
      body: { code: 'compute_lacks_image', image: 'x' },
    });
    stock.instead.clear();
    t.equal(((await client.get(`${lab.path}/nodes`)).body as unknown[]).length, 3);
  });

  await t.test('a project opens while one of its computes is out of reach', async (t) => {
    await client.expect(204, 'POST', `${lab.path}/close`);
    t.equal(project(), undefined);
    await stock.stop();
    await connected('s', false);
    await client.expect(201, 'POST', `${lab.path}/open`);
    t.match(await lab.show(two), { status: 'stopped', compute_id: 's' });
    t.match(await client.post(`${lab.at(two)}/start`), { status: 409, body: { message: /Cannot connect/ } });
  });
});
