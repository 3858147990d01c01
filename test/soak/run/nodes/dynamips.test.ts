/** Dynamips routers: the real program with an image of the test, through the interface of clients. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LINK_TYPE } from '../../../../src/engine/wire/pcap.js';
import type { Hypervisor } from '../../../../src/run/nodes/dynamips/hypervisor.js';
import { Client } from '../../../support/client.js';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, programsOf, reaches, type Json } from '../../../support/node-lab.js';
import { hypervisorOf } from '../../../support/router-hypervisor.js';
import { missingDynamips, routerImage } from '../../../support/router-image.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';
import { UdpPeer } from '../../../support/udp-peer.js';

const skip = missingDynamips();
const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const client = new Client(server.url);
const images = join(server.data, 'images', 'IOS');
mkdirSync(images, { recursive: true });
writeFileSync(join(images, 'echo.image'), routerImage('router is up\r\n'));
writeFileSync(join(images, 'deaf.image'), routerImage('router is deaf\r\n', false));
writeFileSync(join(images, 'text.image'), 'no image at all');

class Lab extends NodeLab {
  static override async make(t: Test): Promise<Lab> {
    const { id } = await NodeLab.make(t, server);
    return new Lab(server, id);
  }

  router(name: string, properties: Json = {}): Promise<Json> {
    const settings = { platform: 'c3600', image: 'echo.image', ram: 64, idlepc: '0x8000802c', ...properties };
    return this.node('dynamips', name, settings);
  }
}

const propertiesOf = (node: Json): Json => node['properties'] as Json;

void t.test(
  'a router boots, is suspended, goes on and stops, and leaves no memory behind',
  { skip },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1');
    t.match(propertiesOf(router), { dynamips_id: 1, mac_addr: /^cc[0-9a-f]{2}\.[0-9a-f]{4}\.0000$/ });
    const running = await lab.act(router, 'start');
    t.match(running, { status: 'started', command_line: /^dynamips -N1 .* -H 127\.0\.0\.1:\d+$/ });
    const console = await lab.console(t, router);
    await console.until(/router is up/);
    console.press('one');
    await console.until(/one/);
    t.match(await lab.act(router, 'suspend'), { status: 'suspended' });
    console.press('two');
    const asked = hypervisorOf(t, running);
    t.same(await asked.ask('vm get_status', ['R1']), ['3'], 'suspended');
    await lab.act(router, 'start');
    await console.until(/two/);
    t.match(
      await client.put(lab.at(router), { name: 'R2' }),
      { status: 409 },
      'a router that runs keeps its name',
    );
    t.match(
      await client.put(lab.at(router), { properties: { slot0: 'NM-1E' } }),
      { status: 409 },
      'and its cards',
    );
    await client.expect(200, 'PUT', lab.at(router), { properties: { idlepc: '0x80008000' } });
    t.match(await lab.act(router, 'stop'), { status: 'stopped' });
    t.same(programsOf(router), []);
    const left = readdirSync(String(router['node_directory'])).sort();
    t.same(left, ['c3600_i1_bootflash', 'c3600_i1_nvram', 'configs']);
    await lab.act(router, 'start');
    await (await lab.console(t, router)).until(/router is up/);
  },
);

void t.test(
  'a router has a user, a network and a view of the folders of its own',
  { skip: process.getuid?.() === 0 ? skip : 'only the superuser can confine programs' },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1');
    const other = await lab.router('R2');
    await lab.act(router, 'start');
    const [pid = 0] = programsOf(router);
    t.ok(statSync(`/proc/${pid}`).uid >= 0x7000_0000);
    t.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^CapEff:\t0+$/m);
    t.not(readlinkSync(`/proc/${pid}/ns/net`), readlinkSync('/proc/self/ns/net'));
    t.equal(reaches(pid, server), false);
    t.equal(reaches(process.pid, server), true);
    const seen = (path: string): string[] => readdirSync(`/proc/${pid}/root${join(server.data, path)}`);
    t.same(seen('.').sort(), ['images', 'projects', 'run']);
    t.same(seen('images/IOS'), ['echo.image'], 'one image');
    t.same(seen(`projects/${lab.id}/project-files/dynamips`), [router['node_id']]);
    t.same(seen('run'), ['dynamips']);
    t.match(seen('run/dynamips').join(), /ilt_/, 'its tables');
    const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n');
    const isReadOnly = (path: string): boolean =>
      mounts.some((line) => line.includes(` ${join(server.data, path)} ro,`));
    t.ok(isReadOnly('run/dynamips'), 'which other routers read');
    t.ok(isReadOnly('images/IOS/echo.image'));
    t.equal(statSync(join(server.data, 'run/dynamips')).uid, 0);
    await lab.act(other, 'start');
    t.not(statSync(`/proc/${programsOf(other)[0] ?? 0}`).uid, statSync(`/proc/${pid}`).uid);
  },
);

void t.test('a router that does not stop is killed', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const router = await lab.router('R1', { image: 'deaf.image' });
  await lab.act(router, 'start');
  await (await lab.console(t, router)).until(/router is deaf/);
  t.match(await lab.act(router, 'stop'), { status: 'stopped' });
  t.same(programsOf(router), []);
});

void t.test('routers of a project have numbers of their own', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const first = await lab.router('R1');
  const second = await lab.router('R2');
  t.equal(propertiesOf(second)['dynamips_id'], 2);
  t.not(propertiesOf(first)['mac_addr'], propertiesOf(second)['mac_addr']);
  t.match(
    await client.post(`${lab.path}/nodes`, {
      ...{ name: 'R3', node_type: 'dynamips', compute_id: 'local' },
      properties: { platform: 'c3600', image: 'echo.image', ram: 64, dynamips_id: 2 },
    }),
    { status: 409 },
  );
  const copy = await client.expect(201, 'POST', `${lab.at(first)}/duplicate`, { x: 1, y: 1 });
  t.equal(propertiesOf(copy)['dynamips_id'], 3);
});

void t.test(
  'the configuration is written when the router stops, and its name follows the node',
  { skip },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1', { startup_config_content: 'hostname %h\nend\n' });
    const file = join(String(router['node_directory']), 'configs', 'i1_startup-config.cfg');
    t.equal(readFileSync(file, 'utf8'), 'hostname R1\nend\n');
    await client.expect(200, 'PUT', lab.at(router), { name: 'edge' });
    await eventually(
      'the name is in it',
      () => readFileSync(file, 'utf8').includes('hostname edge') || undefined,
    );
    const running = await lab.act(router, 'start');
    const config = 'hostname edge\r\n! changed\r\nend\r\n';
    const hypervisor = hypervisorOf(t, running);
    await hypervisor.ask('vm push_config', ['edge', Buffer.from(config).toString('base64')]);
    await lab.act(router, 'stop');
    t.equal(readFileSync(file, 'latin1'), config);
    const copy = await client.expect(201, 'POST', `${lab.at(router)}/duplicate`, { x: 1, y: 1 });
    await lab.act(copy, 'start');
    const copied = join(String(copy['node_directory']), 'configs');
    t.same(readdirSync(copied), ['i2_startup-config.cfg'], 'the copy has the files under its own number');
  },
);

void t.test(
  'a file that is no image does not boot, and links in the folder are not followed',
  { skip },
  async (t) => {
    const lab = await Lab.make(t);
    const text = await lab.router('R1', { image: 'text.image' });
    t.match(await client.post(`${lab.at(text)}/start`), {
      status: 409,
      body: { message: /no image of a router/ },
    });
    const absent = await lab.router('R2', { image: 'absent.image' });
    t.match(await client.post(`${lab.at(absent)}/start`), {
      status: 409,
      body: { message: /absent\.image/ },
    });
    const router = await lab.router('R3');
    const folder = String(router['node_directory']);
    const victim = join(server.data, 'victim');
    writeFileSync(victim, 'mine');
    mkdirSync(folder, { recursive: true });
    for (const name of ['nvram', 'bootflash', 'ram', 'log.txt', 'lock'])
      symlinkSync(victim, join(folder, `c3600_i3_${name}`));
    symlinkSync(server.data, join(folder, 'configs'));
    await lab.act(router, 'start');
    await lab.act(router, 'stop');
    t.equal(readFileSync(victim, 'utf8'), 'mine');
    t.ok(lstatSync(join(folder, 'configs')).isDirectory());
    t.same(programsOf(text), []);
  },
);

void t.test(
  'frames reach the cards of a router as they are, also at serial ports and while it runs',
  { skip },
  async (t) => {
    const properties = { slot0: 'NM-1FE-TX', slot1: 'NM-4T' };
    const { router, path, peer, attach } = await computeRouter(t, properties);
    const ethernet = await attach(0, 0);
    const hypervisor = await startAt(t, path);
    const serial = await attach(1, 2);
    const countOf = async (nio: string): Promise<number> =>
      Number((await hypervisor.ask('nio get_stats', [nio]))[0]?.split(' ')[0]);
    await peer.send(ethernet, [Buffer.alloc(60, 0xff), Buffer.alloc(60, 0xff)]);
    await eventually('two frames at the Ethernet card', async () => (await countOf('n0')) === 2 || undefined);
    await peer.send(serial, [Buffer.from('0f000800', 'hex')]);
    await eventually('a frame at the serial card', async () => (await countOf('n66')) === 1 || undefined);
    const capture = { capture_file_name: 'serial.pcap', data_link_type: 'DLT_EN10MB' };
    const started = await client.expect(200, 'POST', `${path}/adapters/1/ports/2/start_capture`, capture);
    await peer.send(serial, [Buffer.from('0f000800', 'hex')]);
    await eventually('another', async () => (await countOf('n66')) === 2 || undefined);
    await client.expect(204, 'POST', `${path}/adapters/1/ports/2/stop_capture`);
    const recorded = readFileSync(String(started['pcap_file_path']));
    t.equal(recorded.readUInt32LE(20), LINK_TYPE.C_HDLC, 'a serial port is no Ethernet');
    t.equal(recorded.subarray(-4).toString('hex'), '0f000800');
    await client.expect(204, 'DELETE', `${path}/adapters/0/ports/0/nio`);
    t.same((await hypervisor.ask('nio list')).includes('n0'), false, 'a cable that was pulled');
    await attach(0, 0);
    await client.expect(204, 'POST', `${path}/suspend`);
    await client.expect(204, 'POST', `${path}/resume`);
    t.match(await client.expect(200, 'GET', path), { status: 'started' });
    await client.expect(204, 'POST', `${path}/stop`);
    t.notOk(existsSync(join(String(router['node_directory']), 'c3600_i1_ram')));
  },
);

void t.test(
  'the search for an idle-PC value finds the loop in which the image waits',
  { skip },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1', { idlepc: '' });
    const waiting = '0xffffffff8000802c';
    await lab.act(router, 'start');
    await (await lab.console(t, router)).until(/router is up/);
    const { status, body } = await client.get(`${lab.at(router)}/dynamips/idlepc_proposals`);
    t.equal(status, 200);
    t.match((body as string[]).join(), new RegExp(`${waiting} \\[\\d+\\]`));
    t.same(await client.expect(200, 'GET', `${lab.at(router)}/dynamips/auto_idlepc`), { idlepc: waiting });
    t.match(await lab.show(router), { status: 'started' });
    t.match(await client.get(`${lab.path}/nodes/${String(router['node_id'])}/dynamips/auto_idle`), {
      status: 404,
    });
    const absent = { platform: 'c3600', image: 'absent.image', ram: 64 };
    t.match(await client.post('/v2/computes/local/auto_idlepc', absent), { status: 409 });
  },
);

/** Starts a router on the compute. */
async function startAt(t: Test, path: string): Promise<Hypervisor> {
  await client.expect(204, 'POST', `${path}/start`);
  return hypervisorOf(t, await client.expect(200, 'GET', path));
}

/** A router on the compute, and a peer that sends frames to ports of it. */
async function computeRouter(t: Test, properties: Json) {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/compute/projects', { name: 'compute' });
  const base = `/v2/compute/projects/${String(id)}`;
  t.teardown(() => client.expect(204, 'DELETE', base));
  const settings = { name: 'R1', platform: 'c3600', image: 'echo.image', ram: 64, idlepc: '0x8000802c' };
  const router = await client.expect(201, 'POST', `${base}/dynamips/nodes`, { ...settings, ...properties });
  const path = `${base}/dynamips/nodes/${String(router['node_id'])}`;
  const peer = await UdpPeer.open(t);
  /** Attaches a NIO to a port, and returns the port at which it receives. */
  const attach = async (slot: number, port: number): Promise<number> => {
    const { udp_port: lport } = await client.expect(201, 'POST', `${base}/ports/udp`);
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: peer.port };
    await client.expect(201, 'POST', `${path}/adapters/${slot}/ports/${port}/nio`, nio);
    return Number(lport);
  };
  /** Sends a frame until the card has it: the first may come before the cable is in. */
  const reaches = async (hypervisor: Hypervisor, port: number, nio: string): Promise<void> => {
    await eventually(`a frame at ${nio}`, async () => {
      await peer.send(port, [Buffer.alloc(60, 0xff)]);
      return Number((await hypervisor.ask('nio get_stats', [nio]))[0]?.split(' ')[0]) > 0 || undefined;
    });
  };
  return { router, path, peer, attach, reaches };
}

void t.test('cards of a router that runs are changed where the platform can', { skip }, async (t) => {
  const properties = { chassis: '3660', slot1: 'NM-1FE-TX', slot2: 'NM-1FE-TX' };
  const { path, attach, reaches } = await computeRouter(t, properties);
  const [first, second] = [await attach(1, 0), await attach(2, 0)];
  const hypervisor = await startAt(t, path);
  const cards = (): Promise<readonly string[]> => hypervisor.ask('vm slot_bindings', ['R1']);
  await reaches(hypervisor, first, 'n64');
  await client.expect(200, 'PUT', path, { slot1: 'NM-4E', slot3: 'NM-4T' });
  t.same(await cards(), ['0/0: Leopard-2FE', '1/0: NM-4E', '2/0: NM-1FE-TX', '3/0: NM-4T', 'OK']);
  await reaches(hypervisor, first, 'n64');
  await reaches(hypervisor, second, 'n128');
  await reaches(hypervisor, await attach(1, 3), 'n67');
  await client.expect(200, 'PUT', path, { slot2: null });
  t.same(await cards(), ['0/0: Leopard-2FE', '1/0: NM-4E', '3/0: NM-4T', 'OK']);
  await client.expect(200, 'PUT', path, { slot2: 'NM-1E' });
  await reaches(hypervisor, second, 'n128');
});

void t.test('cards of a router that cannot take them while it runs are refused', { skip }, async (t) => {
  const refusedOn = async (platform: Json, change: Json, status: number): Promise<void> => {
    const { path } = await computeRouter(t, platform);
    await client.expect(204, 'POST', `${path}/start`);
    t.match(await client.put(path, change), { status }, JSON.stringify([platform, change]));
  };
  await refusedOn({ chassis: '3640' }, { slot1: 'NM-1E' }, 409);
  await refusedOn({ platform: 'c3745' }, { slot1: 'NM-1FE-TX' }, 409);
  await refusedOn({ platform: 'c3745' }, { slot1: 'NM-4T' }, 200);
  await refusedOn({ platform: 'c7200' }, { slot0: 'C7200-IO-2FE' }, 409);
  await refusedOn({ platform: 'c7200' }, { slot6: 'PA-4T+' }, 200);
  await refusedOn({ platform: 'c2691' }, { wic0: 'WIC-1T' }, 409);
});

void t.test('a link stays at its port when the card of another slot is changed', { skip }, async (t) => {
  const { path, attach, reaches } = await computeRouter(t, { slot0: 'NM-1E', slot1: 'NM-1E' });
  const port = await attach(1, 0);
  await client.expect(200, 'PUT', path, { slot0: 'NM-4E' });
  const hypervisor = await startAt(t, path);
  await reaches(hypervisor, port, 'n64');
  t.match(await hypervisor.ask('vm slot_nio_bindings', ['R1', 1]), [/n64/]);
});

void t.test('the disks of a router that is to forget go when its lab is closed', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const [forgets, remembers] = [await lab.router('R1', { auto_delete_disks: true }), await lab.router('R2')];
  for (const router of [forgets, remembers]) {
    await lab.act(router, 'start');
    await lab.act(router, 'stop');
  }
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.same(readdirSync(String(forgets['node_directory'])), ['configs']);
  const left = readdirSync(String(remembers['node_directory'])).sort();
  t.same(left, ['c3600_i2_bootflash', 'c3600_i2_nvram', 'configs']);
});
