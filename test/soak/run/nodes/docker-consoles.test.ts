/** The consoles of containers beside the main one, and their cables: a real engine, real containers. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { Client } from '../../../support/client.js';
import { IMAGE, missingDocker, TestEngine } from '../../../support/docker-engine.js';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, programsOf, reaches, type Json } from '../../../support/node-lab.js';
import { NotificationLog } from '../../../support/notification-log.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';
import { upgrade } from '../../../support/upgrade.js';
import { paintScreen, VncViewer } from '../../../support/vnc-viewer.js';

const skip = missingDocker();
if (skip !== false) {
  void t.test('consoles of containers', { skip }, () => undefined);
  t.end();
  process.exit();
}
const engine = await TestEngine.start(t);
const server = await startServer(t, {
  environment: {
    WIREFARM_CONSOLE_PORTS: ownConsolePorts(),
    WIREFARM_DOCKER_SOCKET: engine.socket,
    WIREFARM_DOCKER_PRIVILEGES: 'fewer',
  },
});
const client = new Client(server.url);
const SHELL = `/bin/sh -c "trap 'exit 0' TERM; while :; do read -r line && eval \\"$line\\"; done"`;

function container(lab: NodeLab, name: string, properties: Json = {}, more: Json = {}): Promise<Json> {
  return lab.node('docker', name, { image: IMAGE, start_command: SHELL, ...properties }, more);
}

/** Waits until a client of the port has been sent a text that matches. */
async function told(t: Test, port: unknown, said: string, pattern: RegExp): Promise<string> {
  return eventually(`an answer like ${String(pattern)}`, async () => {
    const socket = connect(Number(port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      if (pattern.test(text)) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.write(said);
    await once(socket, 'close');
    return pattern.test(text) ? text : undefined;
  });
}

void t.test('an auxiliary console is a shell beside the command of the container', async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await container(lab, 'A1', { start_command: '/gns3/busybox sleep 999' });
  const { aux } = (await lab.show(node))['properties'] as { aux: number };
  t.type(aux, 'number');
  t.not(aux, node['console']);
  await lab.act(node, 'start');
  await told(t, aux, 'echo $((6*7))-$TERM; hostname\r', /42-vt100[^]*A1/);
  await told(t, aux, 'exit\r', /exit/);
  await told(t, aux, 'echo $((6*9))-again\r', /54-again/);
  await lab.act(node, 'stop');
  const blocker = createServer().listen(aux, '127.0.0.1');
  t.teardown(() => blocker.close());
  await once(blocker, 'listening');
  t.match(await client.post(`${lab.at(node)}/start`), {
    status: 409,
    body: { message: new RegExp(`cannot listen on TCP port ${aux}`) },
  });
  t.same(await engine.containers(), []);
  const copy = await client.expect(201, 'POST', `${lab.at(node)}/duplicate`, { x: 1, y: 1 });
  t.not((copy['properties'] as { aux: number }).aux, aux);
});

void t.test('the carrier of an adapter follows its link', async (t) => {
  const lab = await NodeLab.make(t, server);
  const hub = await lab.node('ethernet_switch', 'S1');
  const node = await container(lab, 'C1', { adapters: 2 });
  const link = await lab.link([node, 0], [hub, 0]);
  await lab.act(node, 'start');
  const terminal = await lab.console(t, node);
  const carriers = async (wanted: RegExp): Promise<void> => {
    await terminal.run('true');
    t.match(await terminal.run('cat /sys/class/net/eth0/carrier /sys/class/net/eth1/carrier'), wanted);
  };
  await carriers(/1\r?\n0\r?\n/);
  await client.expect(201, 'PUT', lab.linkAt(link), { suspend: true });
  await carriers(/0\r?\n0\r?\n/);
  await client.expect(201, 'PUT', lab.linkAt(link), { suspend: false });
  await carriers(/1\r?\n0\r?\n/);
  await client.expect(204, 'DELETE', lab.linkAt(link));
  const other = await lab.link([node, 1, 0], [hub, 0]);
  await carriers(/0\r?\n1\r?\n/);
  await client.expect(204, 'DELETE', lab.linkAt(other));
});

/** A web server at two ports, and an echo for what is no HTTP, such as TLS. */
const WEB = `/bin/sh -c "trap 'exit 0' TERM; cd /tmp; for port in 80 8080; do \
/gns3/busybox mkdir $port; echo page $port >$port/page.html; /gns3/busybox httpd -p $port -h $port; done; \
/gns3/busybox nc -ll -p 443 -e /bin/cat & wait"`;

void t.test('a web server in a container is reached at the console port', async (t) => {
  const lab = await NodeLab.make(t, server);
  const settings = { start_command: WEB, console_http_path: '/page.html' };
  const node = await container(lab, 'W1', settings, { console_type: 'http' });
  const { console: port } = await lab.show(node);
  const page = (): Promise<string> =>
    eventually('the server answers', async () => {
      const answer = await fetch(`http://127.0.0.1:${Number(port)}/page.html`).catch(() => undefined);
      return answer?.status === 200 ? answer.text() : undefined;
    });
  await lab.act(node, 'start');
  t.equal(await page(), 'page 80\n');
  await lab.change(node, { properties: { console_http_port: 8080 } });
  t.equal(await page(), 'page 8080\n', 'while it runs');
  const socket = `${server.url}${lab.at(node)}/console/ws`;
  t.equal(await upgrade(socket, {}), 409, 'it is no console of text');
  await lab.change(node, { properties: { console_http_port: 81 } });
  await t.rejects(fetch(`http://127.0.0.1:${Number(port)}/`), 'where nothing listens');
  await lab.act(node, 'stop');
  const gone = connect(Number(port), '127.0.0.1');
  await t.rejects(once(gone, 'connect'), { code: 'ECONNREFUSED' });
  await lab.change(node, { console_type: 'https', properties: { console_http_port: 443 } });
  await lab.act(node, 'start');
  const { console: secure } = await lab.show(node);
  await told(t, secure, '\x16\x03\x01 no text', /no text/);
});

void t.test('a container has a display, and its console is VNC', async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await container(lab, 'V1', { console_resolution: '800x600' }, { console_type: 'vnc' });
  const other = await container(lab, 'V2', {}, { console_type: 'vnc' });
  for (const one of [node, other]) await lab.act(one, 'start');
  const { console: port } = await lab.show(node);
  const viewer = await VncViewer.open(t, Number(port));
  t.same([viewer.width, viewer.height], [800, 600]);
  const second = await VncViewer.open(t, Number((await lab.show(other))['console']));
  t.same([second.width, second.height], [1024, 768]);
  const { pid, variables } = await engine.insideOf(String(node['node_id']));
  t.ok(variables.includes('DISPLAY=:0'));
  const socket = `/proc/${pid}/root/tmp/.X11-unix/X0`;
  await paintScreen(t, socket, 0x12_34_56);
  t.equal(await viewer.colour(), 0x12_34_56, 'what a client in the container draws is seen');
  t.equal(await second.colour(), 0, 'on its own display only');
  t.equal(await upgrade(`${server.url}${lab.at(node)}/console/ws`, {}), 409);

  const [display = 0] = programsOf(node).filter((program) => commandOf(program).includes('Xtigervnc'));
  t.match(
    readFileSync(`/proc/${display}/status`, 'utf8'),
    /^Uid:\t[12]\d{9}\t.*CapEff:\t0+\n/ms,
    'it is nobody',
  );
  t.notOk(reaches(display, server));
  t.notOk(existsSync(`/proc/${display}/root${server.data}/projects`));
  const stream = await NotificationLog.open(lab.events);
  const warned = stream.next(({ action }) => action === 'log.warning');
  process.kill(display, 'SIGKILL');
  t.match(await warned, { event: { message: /^The display of V1 has ended/ } });
  stream.close();
  t.match(await lab.show(node), { status: 'started' });
  await lab.act(node, 'reload');
  t.equal((await VncViewer.open(t, Number(port))).width, 800);

  await lab.change(node, { properties: { console_resolution: '30000x30000' } });
  await lab.act(node, 'stop');
  t.same(programsOf(node), []);
  t.match(await client.post(`${lab.at(node)}/start`), {
    status: 409,
    body: { message: /no display has a resolution of 30000x30000/ },
  });
  await lab.change(node, { properties: { console_resolution: null, start_command: '/missing' } });
  t.match(await client.post(`${lab.at(node)}/start`), { status: 409 });
  t.same(programsOf(node), [], 'the display ends with a start that fails');
});

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
