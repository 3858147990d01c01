/** IOU nodes through the interface of clients, with a program in the place of an image that speaks its format. */
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../../support/client.js';
import { eventually } from '../../../support/eventually.js';
import { buildIouImage, missingCompiler } from '../../../support/iou-image.js';
import { NotificationLog, type Notification } from '../../../support/notification-log.js';
import { scratchFolder } from '../../../support/scratch.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';
import { NodeLab, programsOf, type Json } from '../../../support/node-lab.js';
import { NodeTerminal } from '../../../support/node-terminal.js';
import { missingVpcs } from '../../../support/vpcs.js';

const skip = missingCompiler();
const images = scratchFolder(t);
if (skip === false) buildIouImage(t, join(images, 'IOU', 'double.bin'));
const server = await startServer(t, {
  environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(), WIREFARM_IMAGES: images },
});
const client = new Client(server.url);
const LICENSE = '[license]\nhost = 0123456789abcdef;';
const isConfined = process.getuid?.() === 0;
await client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: LICENSE });

class Lab extends NodeLab {
  static override async make(t: Test): Promise<Lab> {
    const { id } = await NodeLab.make(t, server);
    return new Lab(server, id);
  }

  router(name: string, properties: Json = {}): Promise<Json> {
    return this.node('iou', name, { path: 'double.bin', ...properties });
  }

  /** Starts a router; returns its console, where it is ready. */
  async started(t: Test, node: Json): Promise<NodeTerminal> {
    await this.act(node, 'start');
    const terminal = await this.console(t, node, '\n');
    await terminal.until(/ready/);
    return terminal;
  }
}

const propertiesOf = (node: Json): Json => node['properties'] as Json;
const folderOf = (node: Json): string => String(node['node_directory']);
const idOf = (node: Json): number => Number(propertiesOf(node)['application_id']);
const socketsOf = (node: Json): string[] => {
  const folder = isConfined
    ? join(server.data, 'run/i', String(node['node_id']), 's')
    : `/tmp/netio${process.geteuid?.() ?? 0}`;
  return (existsSync(folder) ? readdirSync(folder) : []).filter((name) =>
    [idOf(node), idOf(node) + 512].includes(parseInt(name, 10)),
  );
};

/** Looks until something is so. */
async function holds(look: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(String(look), async () => ((await look()) ? true : undefined));
}

/** Asks again and again, as people do: the first frames may be lost. */
async function ping(from: NodeTerminal, port: string, address: string): Promise<void> {
  let hasAnswer = false;
  const answer = from.until(new RegExp(`answer from ${address.replaceAll('.', '\\.')}`)).then(() => {
    hasAnswer = true;
  });
  await holds(() => {
    if (!hasAnswer) from.type(`ping ${port} ${address}`);
    return hasAnswer;
  });
  await answer;
}

void t.test('two images reach each other through a switch, each port by itself', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const hub = await lab.node('ethernet_hub', 'H');
  const first = await lab.router('R1');
  const second = await lab.router('R2', { ethernet_adapters: 4, serial_adapters: 0 });
  t.not(idOf(first), idOf(second));
  await lab.link([first, 0, 0], [hub, 0, 0]);
  await lab.link([second, 0, 0], [hub, 0, 1]);
  // The last port of the last bay, straight to the other.
  await lab.link([first, 1, 3], [second, 3, 3]);
  const one = await lab.started(t, first);
  const two = await lab.started(t, second);
  await one.ask('ip 0/0 10.0.0.1', /ok/);
  await two.ask('ip 0/0 10.0.0.2', /ok/);
  await one.ask('ip 1/3 10.0.1.1', /ok/);
  await two.ask('ip 3/3 10.0.1.2', /ok/);
  await ping(one, '0/0', '10.0.0.2');
  await ping(two, '3/3', '10.0.1.1');
  const { command_line: line } = await lab.show(second);
  t.equal(line, `./double.bin -e 4 -s 0 -n 256 -m 1024 ${idOf(second)}`);
  await lab.act(first, 'stop');
  await lab.act(second, 'stop');
  t.same([socketsOf(first), socketsOf(second)], [[], []]);
});

void t.test(
  'a virtual PC and an image reach each other',
  { skip: skip === false ? missingVpcs() : skip },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1');
    const pc = await lab.node('vpcs', 'PC1', { startup_script: 'ip 10.0.0.9/24\n' });
    const link = await lab.link([router, 0, 1], [pc, 0, 0]);
    await lab.act(pc, 'start');
    const console = await lab.started(t, router);
    await console.ask('ip 0/1 10.0.0.1', /ok/);
    await ping(console, '0/1', '10.0.0.9');
    t.equal(link['link_type'], 'ethernet');
  },
);

void t.test('configurations go into the NVRAM at a start, and come out of it', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const log = await NotificationLog.open(`${server.url}${lab.path}/notifications`);
  const router = await lab.router('R1', { startup_config_content: 'hostname %h\n', nvram: 64 });
  const config = join(folderOf(router), 'startup-config.cfg');
  t.equal(readFileSync(config, 'utf8'), 'hostname R1\n');
  const console = await lab.started(t, router);
  t.match(await console.ask('show config', /\]/), '[hostname R1\n]');
  t.equal(lstatSync(join(folderOf(router), `nvram_${String(idOf(router)).padStart(5, '0')}`)).size, 65_536);
  await console.ask('write interface e0/0', /written/);
  await holds(() => readFileSync(config, 'utf8').endsWith('interface e0/0\n'));
  const isUpdate = ({ action, event }: Notification): boolean =>
    action === 'node.updated' && event['node_id'] === router['node_id'] && event['status'] === 'started';
  t.ok(await log.next(isUpdate));
  await console.ask('write  shutdown', /written/);
  await lab.act(router, 'stop');
  t.equal(readFileSync(config, 'utf8'), 'hostname R1\ninterface e0/0\n shutdown\n');
  // A copy has a number of its own, and the configuration of the first.
  const copy = await client.expect(201, 'POST', `${lab.at(router)}/duplicate`, { x: 1, y: 1, z: 1 });
  t.not(idOf(copy), idOf(router));
  rmSync(join(folderOf(copy), 'startup-config.cfg'));
  const other = await lab.started(t, copy);
  t.match(await other.ask('show config', /\]/), 'interface e0/0\n shutdown\n]');
});

void t.test('an image that is killed is stopped, and nothing of it is left', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const router = await lab.router('R1', { startup_config_content: 'hostname R1\n' });
  const console = await lab.started(t, router);
  t.equal(socketsOf(router).length, 3);
  await console.ask('write last words', /written/);
  const mark = `/${String(router['node_id'])}\0`;
  const pid = readdirSync('/proc').find((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  });
  process.kill(Number(pid), 'SIGKILL');
  await holds(async () => (await lab.show(router))['status'] === 'stopped');
  await holds(() => socketsOf(router).length === 0);
  t.equal(readFileSync(join(folderOf(router), 'startup-config.cfg'), 'utf8'), 'hostname R1\nlast words\n');
  const again = await lab.started(t, router);
  t.match(await again.ask('show config', /\]/), 'last words');
  again.type('exit 3');
  await holds(async () => (await lab.show(router))['status'] === 'stopped');
});

void t.test('the licence is handed to images, and to nobody else', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const router = await lab.router('R1');
  const console = await lab.started(t, router);
  t.match(await console.ask('show license', /license .*\n/), 'license 600 [license]');
  t.notOk(readdirSync(folderOf(router)).includes('iourc'));
  await lab.act(router, 'stop');
  t.same(await client.expect(200, 'GET', '/v2/iou_license'), { iourc_content: LICENSE, license_check: true });
  t.same(await client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: '' }), {
    iourc_content: '',
    license_check: true,
  });
  const refused = await client.expect(409, 'POST', `${lab.at(router)}/start`);
  t.match(refused['message'], /licence/);
  await client.expect(201, 'PUT', '/v2/iou_license', { license_check: false });
  const without = await lab.started(t, router);
  t.match(await without.ask('show license', /license .*\n/), 'license 0 none');
  await client.expect(400, 'PUT', '/v2/iou_license', { license_check: 'yes' });
  await client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: LICENSE, license_check: true });
});

void t.test('a file that is no image for this host is refused with the reason', { skip }, async (t) => {
  const lab = await Lab.make(t);
  const start = async (properties: Json): Promise<string> => {
    const node = await lab.router('R', properties);
    const { message } = await client.expect(409, 'POST', `${lab.at(node)}/start`);
    t.equal((await lab.show(node))['status'], 'stopped');
    t.same(socketsOf(node), []);
    return String(message);
  };
  t.match(await start({ path: 'absent.bin' }), /absent\.bin is missing/);
  writeFileSync(join(images, 'IOU', 'script.bin'), '#!/bin/sh\n', { mode: 0o755 });
  t.match(await start({ path: 'script.bin' }), /script\.bin is no IOU image/);
  const image = readFileSync(join(images, 'IOU', 'double.bin'));
  writeFileSync(join(images, 'IOU', 'plain.bin'), image, { mode: 0o644 });
  t.match(await start({ path: 'plain.bin' }), /no permission to run the image plain\.bin/);
  writeFileSync(join(images, 'IOU', 'NETMAP'), image, { mode: 0o755 });
  t.match(await start({ path: 'NETMAP' }), /may not have the name NETMAP/);
  const foreign = Buffer.from(image);
  const at = foreign.indexOf('/lib64/ld-linux');
  foreign.write('/lib64/xx-linux', at);
  writeFileSync(join(images, 'IOU', 'foreign.bin'), foreign, { mode: 0o755 });
  t.match(await start({ path: 'foreign.bin' }), /needs \/lib64\/xx-linux/);
  t.match(await start({ path: '/bin/true' }), /not allowed on this remote server/);
  const tooMany = await client.expect(409, 'POST', `${lab.path}/nodes`, {
    ...{ name: 'R', node_type: 'iou', compute_id: 'local' },
    properties: { path: 'double.bin', ethernet_adapters: 10, serial_adapters: 10 },
  });
  t.match(tooMany['message'], /16 adapters/);
});

void t.test(
  'whatever a client has put into the folder of a node, nothing outside of it changes',
  { skip },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1', { startup_config_content: 'hostname R1\n' });
    const folder = folderOf(router);
    const outside = join(scratchFolder(t), 'outside');
    writeFileSync(outside, 'precious');
    const nvram = join(folder, `nvram_${String(idOf(router)).padStart(5, '0')}`);
    symlinkSync(outside, nvram);
    symlinkSync(outside, join(folder, 'nvram_00400'));
    symlinkSync(outside, join(folder, 'private-config.cfg'));
    mkdirSync(join(folder, 'NETMAP'));
    writeFileSync(join(folder, 'double.bin'), '#!/bin/sh\necho ready\ncat\n', { mode: 0o755 });
    const console = await lab.started(t, router);
    t.match(await console.ask('show config', /\]/), '[hostname R1\n]');
    await console.ask('write x', /written/);
    await lab.act(router, 'stop');
    t.equal(readFileSync(outside, 'utf8'), 'precious');
    t.ok(lstatSync(nvram).isFile());
    t.notOk(existsSync(join(folder, 'nvram_00400')));
    t.ok(lstatSync(join(folder, 'double.bin')).isSymbolicLink());

    for (const content of [Buffer.alloc(0), Buffer.alloc(9000, 0xff), Buffer.alloc(2_000_000)]) {
      rmSync(join(folder, 'startup-config.cfg'));
      writeFileSync(join(folder, 'startup-config.cfg'), 'hostname R2\n');
      writeFileSync(nvram, content);
      const answer = await client.request('POST', `${lab.at(router)}/start`);
      if (answer.status === 200) await lab.act(router, 'stop');
      else t.equal(answer.status < 500, true, String(answer.status));
      t.equal(readFileSync(join(folder, 'startup-config.cfg'), 'utf8'), 'hostname R2\n');
    }
  },
);

const MEMORY_GROUPS = '/sys/fs/cgroup/memory';
const lacksMemoryGroups =
  isConfined && existsSync(join(MEMORY_GROUPS, 'memory.limit_in_bytes'))
    ? skip
    : 'the host has no groups for memory that can be written';

void t.test(
  'a guest that memory kills is named, and the server goes on',
  { skip: lacksMemoryGroups },
  async (t) => {
    const lab = await Lab.make(t);
    const log = await NotificationLog.open(`${server.url}${lab.path}/notifications`);
    const router = await lab.router('R1');
    const console = await lab.started(t, router);
    const group = join(MEMORY_GROUPS, `wirefarm-${randomUUID()}`);
    mkdirSync(group);
    t.teardown(() => {
      rmdirSync(group);
    });
    writeFileSync(join(group, 'memory.limit_in_bytes'), '33554432');
    const [pid = 0] = programsOf(router);
    t.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'), '500\n', 'it comes before the server');
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
    console.type('take 100');
    const told = await log.next(({ action }) => action === 'log.error');
    t.match(told.event['message'], /^R1 ended: the host had no memory left for it \(signal SIGKILL\)/);
    t.equal((await lab.show(router))['status'], 'stopped');
  },
);

void t.test(
  'an image reads and reaches nothing of the server',
  { skip: isConfined ? skip : 'only the superuser can confine programs' },
  async (t) => {
    const lab = await Lab.make(t);
    const router = await lab.router('R1');
    const neighbour = await lab.router('R2', { startup_config_content: 'hostname R2\n' });
    const console = await lab.started(t, router);
    const read = (path: string): Promise<string> => console.ask(`read ${path}`, /read: .*\n/);
    t.match(await read(`${folderOf(router)}/NETMAP`), 'read: done');
    t.match(await read(join(images, 'IOU', 'double.bin')), 'read: done');
    const store = readdirSync(join(server.data, 'state')).map((name) => join(server.data, 'state', name));
    t.ok(store.length > 0);
    for (const path of [
      ...store,
      `${folderOf(neighbour)}/startup-config.cfg`,
      join(server.data, 'run/keeper.sock'),
    ])
      t.match(await read(path), /No such file|Permission denied/, path);
    const own = `/proc/${server.child.pid ?? 0}`;
    for (const path of [`${own}/root/etc`, `${own}/environ`])
      t.match(await read(path), 'Permission denied', path);
    const reached = await console.ask(`reach ${new URL(server.url).port}`, /reach: .*\n/);
    t.match(reached, 'Connection refused');
    const [pid] = programsOf(router);
    t.ok(statSync(`/proc/${pid ?? 0}`).uid >= 0x7000_0000, 'it has a user of its own');
  },
);

void t.test(
  'a number that another program has is refused where images are not confined',
  { skip },
  async (t) => {
    const server = await startServer(t, {
      environment: {
        WIREFARM_CONSOLE_PORTS: ownConsolePorts(),
        WIREFARM_IMAGES: images,
        WIREFARM_NO_CONFINEMENT: 'true',
      },
    });
    const client = new Client(server.url);
    await client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: LICENSE });
    const { id: labId } = await NodeLab.make(t, server);
    const lab = new Lab(server, labId);
    const first = await lab.router('R1');
    await lab.started(t, first);
    // A client of the compute interface may ask for any number.
    const { project_id: id } = await client.expect(201, 'POST', '/v2/compute/projects', {
      name: 'compute',
      project_id: 'aaaaaaaa-0000-4000-8000-000000000001',
    });
    const path = `/v2/compute/projects/${String(id)}`;
    t.teardown(() => client.expect(204, 'DELETE', path));
    const made = await client.expect(201, 'POST', `${path}/iou/nodes`, {
      ...{ name: 'R9', path: 'double.bin', application_id: idOf(first) },
    });
    const nodePath = `${path}/iou/nodes/${String(made['node_id'])}`;
    const { message } = await client.expect(409, 'POST', `${nodePath}/start`);
    t.match(message, /application id/);
    t.equal((await lab.show(first))['status'], 'started');
    await client.expect(200, 'PUT', nodePath, { application_id: 511 });
    const sent = { iourc_content: '[license]\nother = 1;', license_check: true };
    await client.expect(200, 'POST', `${nodePath}/start`, sent);
    const url = `${server.url.replace('http', 'ws')}${nodePath}/console/ws`;
    const console = await NodeTerminal.open(t, url, '\n');
    await console.until(/ready/);
    t.match(await console.ask('show license', /license .*\n/), 'license 600 [license]');
    await client.expect(204, 'POST', `${nodePath}/stop`);
  },
);
