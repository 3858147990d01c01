/** The consoles of containers beside the main one, and their cables: a real engine, real containers. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { Client } from '../../../support/client.js';
import { IMAGE, missingDocker, TestEngine } from '../../../support/docker-engine.js';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, type Json } from '../../../support/node-lab.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';

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
