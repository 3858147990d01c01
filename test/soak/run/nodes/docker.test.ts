/** Containers: a real engine and real containers, through the interface of clients. */
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../../support/client.js';
import { IMAGE, missingDocker, TestEngine } from '../../../support/docker-engine.js';
import { eventually } from '../../../support/eventually.js';
import { scrape } from '../../../support/metric-samples.js';
import { NodeLab, type Json } from '../../../support/node-lab.js';
import type { NodeTerminal } from '../../../support/node-terminal.js';
import { NotificationLog } from '../../../support/notification-log.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';

const skip = missingDocker();
if (skip !== false) {
  void t.test('containers of a real engine', { skip }, () => undefined);
  t.end();
  process.exit();
}
const engine = await TestEngine.start(t);
// The user of the tests may lack rights that privileged containers take.
const environment = {
  WIREFARM_CONSOLE_PORTS: ownConsolePorts(),
  WIREFARM_DOCKER_SOCKET: engine.socket,
  WIREFARM_DOCKER_PRIVILEGES: 'fewer',
};
const server = await startServer(t, { environment });
const client = new Client(server.url);

/** A shell that ends when it is asked to; others take their time. */
const SHELL = `/bin/sh -c "trap 'exit 0' TERM; while :; do read -r line && eval \\"$line\\"; done"`;

class Lab extends NodeLab {
  /** The test removes it: its containers are gone afterwards. */
  static override async make(t: Test, of: { readonly url: string } = server): Promise<Lab> {
    const { id } = await NodeLab.left(t.name, of);
    return new Lab(of, id);
  }

  container(name: string, properties: Json = {}, more: Json = {}): Promise<Json> {
    return this.node('docker', name, { image: IMAGE, start_command: SHELL, ...properties }, more);
  }

  /** The shell of a container. */
  async shell(t: Test, node: Json): Promise<NodeTerminal> {
    const terminal = await this.console(t, node);
    await terminal.ask('echo re""ady', /ready\r?\n/);
    return terminal;
  }

  async remove(): Promise<void> {
    await this.client.expect(204, 'DELETE', this.path);
  }
}

void t.test('two containers behind a switch reach each other', async (t) => {
  const lab = await Lab.make(t);
  const hub = await lab.node('ethernet_switch', 'S1');
  const custom = [{ adapter_number: 0, mac_address: '02:00:00:00:00:77' }];
  const first = await lab.container('C1', { adapters: 2 }, { custom_adapters: custom });
  const second = await lab.container('C2');
  await lab.link([first, 0], [hub, 0]);
  const link = await lab.link([second, 0], [hub, 1]);
  const interfaces = `${lab.at(second)}/files/etc/network/interfaces`;
  const text = 'auto eth0\niface eth0 inet static\n  address 10.0.0.2\n  netmask 255.255.255.0\n';
  await client.expect(201, 'POST', interfaces, text);
  t.match(await lab.act(first, 'start'), { status: 'started' });
  t.match(await lab.act(second, 'start'), { status: 'started' });
  const one = await lab.shell(t, first);
  t.match(await one.run('ip link show eth0'), /02:00:00:00:00:77/);
  await one.run('ip addr add 10.0.0.1/24 dev eth0');
  t.match(await one.run('ping -c 3 -A 10.0.0.2'), /3 packets received/);
  t.match(await one.run('ip -o link'), /lo.*eth0.*eth1/s);

  await t.test('a suspended one stands still, and goes on', async (t) => {
    t.match(await lab.act(second, 'suspend'), { status: 'suspended' });
    t.equal(await engine.paused(), 1);
    t.match(await lab.act(second, 'start'), { status: 'started' });
    t.equal(await engine.paused(), 0);
    t.match(await one.run('ping -c 3 -A 10.0.0.2'), /[1-3] packets received/);
  });

  await t.test('a link is suspended, and the container is reloaded', async (t) => {
    const linkPath = `${lab.path}/links/${String(link['link_id'])}`;
    await client.expect(201, 'PUT', linkPath, { suspend: true });
    t.match(await one.run('ping -c 1 -W 1 10.0.0.2'), / 0 packets received/);
    await client.expect(201, 'PUT', linkPath, { suspend: false });
    t.match(await lab.act(second, 'reload'), { status: 'started' });
    await lab.shell(t, second);
    t.match(await one.run('ping -c 3 -A 10.0.0.2'), /[1-3] packets received/);
  });
  await lab.remove();
  t.same(await engine.containers(true), [], 'nothing is left of a project');
});

void t.test('the settings of a container reach it, and its folders outlive it', async (t) => {
  const lab = await Lab.make(t);
  const node = await lab.container('C1', {
    environment: 'COLOUR=red %vm-name%\nGNS3_USER=nobody\n',
    extra_hosts: 'peer:10.0.0.9',
    extra_volumes: ['/srv/kept', '/srv/kept/below'],
  });
  await lab.act(node, 'start');
  const terminal = await lab.shell(t, node);
  t.match(await terminal.run('env'), /COLOUR=red C1\r?\n/);
  t.match(await terminal.run('cat /etc/hosts'), /10\.0\.0\.9\tpeer/);
  t.match(await terminal.run('hostname'), /C1/);
  t.match(await terminal.run('cat /srv/kept/file'), /first/);
  await terminal.run('echo second >/srv/kept/file; echo lost >/note; echo >/srv/kept/mine');
  await terminal.run('/gns3/busybox chown 7:8 /srv/kept/mine; /gns3/busybox chmod 640 /srv/kept/mine');
  const container = String((await engine.containers())[0]);
  await lab.act(node, 'stop');
  const kept = join(String(node['node_directory']), 'srv/kept');
  t.equal(readFileSync(join(kept, 'file'), 'utf8'), 'second\n');
  t.match(readFileSync(join(kept, '.gns3_perms'), 'utf8'), '640:7:8:/srv/kept/mine\n');

  await lab.act(node, 'start');
  t.same(await engine.containers(), [container], 'the same container');
  const again = await lab.shell(t, node);
  t.match(await again.run('cat /srv/kept/file /note'), /second\r?\nlost/);
  await lab.act(node, 'stop');
  await client.expect(200, 'PUT', lab.at(node), { name: 'C9', properties: { environment: 'COLOUR=blue' } });
  await lab.act(node, 'start');
  const other = await lab.shell(t, node);
  t.match(await other.run('env; hostname; cat /srv/kept/file; ls -ln /srv/kept/mine'), /7 +8 .*mine/);
  t.match(await other.run('env'), /COLOUR=blue\r?\n/);
  t.match(await other.run('cat /note'), /No such file/i, 'another container');
  const copied = await client.post(`${lab.at(node)}/duplicate`, { x: 1, y: 1 });
  t.match(copied, { status: 409 }, 'while it runs');
  await lab.act(node, 'stop');
  const copy = await client.expect(201, 'POST', `${lab.at(node)}/duplicate`, { x: 1, y: 1 });
  t.equal(readFileSync(join(String(copy['node_directory']), 'srv/kept/file'), 'utf8'), 'second\n');
  await client.expect(204, 'DELETE', lab.at(node));
  t.notOk(existsSync(String(node['node_directory'])));
  await lab.remove();
});

void t.test('a container that cannot start is refused with the reason, and leaves nothing', async (t) => {
  const lab = await Lab.make(t);
  const refused = async (properties: Json, reason: RegExp): Promise<void> => {
    const node = await lab.container('C', properties);
    const answer = await client.post(`${lab.at(node)}/start`);
    t.match(answer, { status: 409, body: { message: reason } });
    t.match(await lab.show(node), { status: 'stopped' });
  };
  await refused(
    { image: '127.0.0.1:1/missing:1' },
    /could not be started: .*(127\.0\.0\.1:1|No such image)/s,
  );
  await refused({ image: '../containers/json' }, /is no name of an image/);
  await refused({ start_command: '/missing' }, /could not be started/);
  await refused({ start_command: '"' }, /quotation mark/);
  await refused({ extra_hosts: 'peer:nowhere' }, /The extra host 'peer:nowhere'/);
  await refused({ extra_volumes: ['/a:b'] }, /'\/a:b' cannot be kept/);
  const linked = await lab.container('L', { extra_volumes: ['/out'] });
  const folder = String(linked['node_directory']);
  symlinkSync('/', join(folder, 'out'));
  t.match(await client.post(`${lab.at(linked)}/start`), { status: 403 });
  t.same(await engine.containers(), []);
  await lab.remove();
  t.same(await engine.containers(true), []);
});

void t.test('the status is that of the container, whoever ends it', async (t) => {
  const lab = await Lab.make(t);
  const node = await lab.container('C1');
  const stream = await NotificationLog.open(`${server.url}${lab.path}/notifications`);
  await lab.act(node, 'start');
  const error = stream.next(({ action }) => action === 'log.error');
  await engine.ask('POST', `/containers/${String((await engine.containers())[0])}/kill`);
  t.match(await error, { event: { message: /^C1 ended: status 137/ } });
  await eventually('it is stopped', async () => (await lab.show(node))['status'] === 'stopped' || undefined);
  await lab.act(node, 'start');
  const terminal = await lab.shell(t, node);
  const failed = stream.next(({ event }) => String(event['message']).startsWith('C1 ended: status 3\n'));
  terminal.type('echo last; exit 3');
  t.match(await failed, { action: 'log.error', event: { message: /last/ } });
  await eventually('it has ended', async () => (await lab.show(node))['status'] === 'stopped' || undefined);
  stream.close();
  await lab.remove();
});

void t.test('the images are listed', async (t) => {
  t.same((await client.get('/v2/compute/docker/images')).body, [{ image: IMAGE }]);
  t.same((await client.get('/v2/computes/local/docker/images')).body, [{ image: IMAGE }]);
  t.match((await client.get('/v2/computes/local')).body, { capabilities: { node_types: /docker/ } });
  t.equal((await client.get('/v2/computes/other/docker/images')).status, 404);
});

void t.test('the compute interface runs containers as well', async (t) => {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/compute/projects', { name: 'compute' });
  const base = `/v2/compute/projects/${String(id)}`;
  const settings = { name: 'C1', image: 'wirefarm-test', adapters: 1, start_command: SHELL };
  const node = await client.expect(201, 'POST', `${base}/docker/nodes`, settings);
  t.match(node, { image: IMAGE, status: 'stopped', container_id: null });
  const path = `${base}/docker/nodes/${String(node['node_id'])}`;
  await client.expect(204, 'POST', `${path}/start`);
  t.match(await client.expect(200, 'GET', path), { status: 'started' });
  await client.expect(204, 'POST', `${path}/pause`);
  t.match(await client.expect(200, 'GET', path), { status: 'suspended' });
  await client.expect(204, 'POST', `${path}/unpause`);
  t.match(await client.expect(200, 'GET', path), { status: 'started' });
  await client.expect(204, 'POST', `${path}/pause`);
  await client.expect(204, 'POST', `${path}/stop`);
  t.match(await client.expect(200, 'GET', path), { status: 'stopped' });
  await client.expect(204, 'DELETE', base);
  t.same(await engine.containers(true), []);
});

void t.test('the metrics have the processes of containers', async (t) => {
  const lab = await Lab.make(t);
  const busy = await lab.container('C1', {
    start_command: '/bin/sh -c "cat /dev/zero >/dev/null & exec /bin/sh"',
  });
  await lab.act(busy, 'start');
  const has = (what: string, isSo: (processes: number, cpuSeconds: number) => boolean): Promise<number> =>
    eventually(what, async () => {
      const samples = await scrape(client);
      const [processes = 0, seconds = 0] = ['processes', 'cpu_seconds_total'].map((name) =>
        samples.get(`wirefarm_node_${name}{kind="docker"}`),
      );
      return isSo(processes, seconds) ? seconds : undefined;
    });
  const used = await has(
    'two processes, one of which works',
    (processes, seconds) => processes >= 2 && seconds > 1,
  );
  await lab.act(busy, 'stop');
  const after = await has('they are gone', (processes) => processes === 0);
  t.ok(after >= used, 'their time has not fallen');
  await lab.remove();
});

void t.test('no container outlives the server, also when other nodes do, and people are told', async (t) => {
  const own = { ...environment, WIREFARM_CONSOLE_PORTS: ownConsolePorts(3) };
  const mortal = await startServer(t, { environment: own, flags: ['--keep-nodes', '60'] });
  await mortal.logged(/live on when this server ends, but for containers/);
  const lab = await Lab.make(t, mortal);
  const nodes = [
    await lab.container('C1'),
    await lab.container('C2', { start_command: '/bin/sh -c "exec /bin/sh"' }),
  ];
  const stream = await NotificationLog.open(lab.events);
  const told = stream.next(({ action }) => action === 'log.info');
  for (const node of nodes) await lab.act(node, 'start');
  t.match(await told, { event: { message: /^C1 ends with the server/ } });
  stream.close();
  t.equal((await engine.containers()).length, 2);
  await mortal.stop('SIGKILL');
  await eventually(
    'its containers have ended',
    async () => (await engine.containers()).length === 0 || undefined,
  );
  t.equal((await engine.containers(true)).length, 2);

  const next = await startServer(t, { environment: own, data: mortal.data });
  await eventually(
    'their nodes run again',
    async () => (await engine.containers()).length === 2 || undefined,
  );
  t.equal((await engine.containers(true)).length, 2, 'the old ones are removed');
  writeFileSync(join(mortal.data, 'note'), 'so that the folder is not that of the first server');
  await next.stop('SIGTERM');
  t.same(await engine.containers(true), []);
});
