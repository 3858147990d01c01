/** A controller of GNS3 2.2 and a compute, of which one is killed: everything is posted again, and nothing is left over. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import { OUTLETS, PROGRAMS, SWITCHES } from '../../support/compute-kinds.js';
import { eventually } from '../../support/eventually.js';
import { programsOf } from '../../support/node-lab.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../../support/server-process.js';
import { StockController, type StockNode } from '../../support/stock-controller.js';

const KINDS = [...SWITCHES, ...OUTLETS, ...PROGRAMS].filter(({ missing }) => missing === false);
const NOTE = 'a note of the user\n';

const flags = ['--kvm', 'off'];
const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts() };
const marked = (node: StockNode): number[] => programsOf({ node_id: node.id });

/** Links each node to another host and starts it, as a person does; frames must cross. */
async function run(controller: StockController, nodes: readonly StockNode[]): Promise<void> {
  const linked = [];
  for (const node of nodes) {
    linked.push({ node, link: await controller.link(node) });
    await controller.act(node, 'start');
  }
  await Promise.all(linked.map(({ node, link }) => node.kind.talk(controller, node, link)));
}

/** A node of each kind, which run. */
async function lab(
  t: Test,
  server: ServerProcess,
): Promise<{ controller: StockController; nodes: StockNode[] }> {
  const controller = await StockController.open(t, server.url);
  const nodes: StockNode[] = [];
  for (const kind of KINDS) nodes.push(await controller.create(kind, 'PC1'));
  await run(controller, nodes);
  return { controller, nodes };
}

async function nothingIsLeft(t: Test, server: ServerProcess, nodes: readonly StockNode[]): Promise<void> {
  for (const node of nodes) t.same(marked(node), [], `programs of ${node.kind.kind}`);
  const ports = await new Client(server.url).expect(200, 'GET', '/v2/compute/network/ports');
  t.strictSame([ports['console_ports'], ports['udp_ports']], [[], []]);
}

void t.test('a compute is killed and started, and gets its nodes anew', async (t) => {
  const first = await startServer(t, { flags, environment });
  const { controller, nodes } = await lab(t, first);
  const [node] = nodes.slice(-1);
  const file = node === undefined ? '' : controller.fileOf(node, 'notes.txt');
  await controller.client.expect(201, 'POST', file, NOTE);
  t.equal(await first.stop('SIGKILL'), 'SIGKILL');
  await controller.events.ended;
  for (const node of nodes)
    await eventually('its programs end with the server', () => marked(node).length === 0 || undefined);

  const second = await startServer(t, { flags, environment, data: first.data });
  const client = new Client(second.url);
  t.same((await client.get('/v2/compute/projects')).body, []);
  t.equal((await client.get(controller.path)).status, 404);
  const again = await StockController.open(t, second.url, controller.projectId);
  const rebuilt: StockNode[] = [];
  for (const node of nodes) {
    t.equal((await client.get(again.at(node))).status, 404);
    rebuilt.push(await again.createAgain(node));
    const { command_line: _before, ...shown } = node.shown;
    t.match(rebuilt.at(-1)?.shown, shown, `${node.kind.kind} is what it was`);
  }
  await run(again, rebuilt);
  t.equal((await client.get(file)).text, NOTE);
  await client.expect(204, 'DELETE', again.path);
  await nothingIsLeft(t, second, nodes);
  t.notOk(existsSync(join(second.data, 'projects', again.projectId)));
});

void t.test(
  'a controller is killed and started, and opens its project on a compute that runs it',
  async (t) => {
    const server = await startServer(t, { flags, environment });
    const { controller, nodes } = await lab(t, server);
    controller.events.close();
    const again = await StockController.open(t, server.url, controller.projectId);
    for (const node of nodes) {
      const { shown } = await again.createAgain(node);
      t.match(shown, { status: 'started' }, `${node.kind.kind} runs on`);
      await t.rejects(again.link(node), / 409 /, 'its port is attached still');
    }
    // The reference closes a project that it cannot open, and its user opens it again.
    await again.client.expect(204, 'POST', `${again.path}/close`);
    await nothingIsLeft(t, server, nodes);
    const third = await StockController.open(t, server.url, controller.projectId);
    const rebuilt: StockNode[] = [];
    for (const node of nodes) rebuilt.push(await third.createAgain(node));
    await run(third, rebuilt);
    await third.client.expect(204, 'DELETE', third.path);
    await nothingIsLeft(t, server, nodes);
  },
);
