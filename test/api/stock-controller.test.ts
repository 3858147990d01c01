/** A controller of GNS3 2.2 uses this server as a compute, for every kind of node. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { OUTLETS, PROGRAMS, SWITCHES, type ComputeKind } from '../support/compute-kinds.js';
import { eventually } from '../support/eventually.js';
import { LiveStream } from '../support/live-stream.js';
import { programsOf } from '../support/node-lab.js';
import { pcapFile } from '../support/pcap-records.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { StockController, type StockNode } from '../support/stock-controller.js';

const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts() };
const options = { flags: ['--kvm', 'off'], environment };
const server = await startServer(t, options);

const marked = (node: StockNode): number[] => programsOf({ node_id: node.id });
const isOver = (node: StockNode): Promise<true> =>
  eventually('its programs have ended', () => marked(node).length === 0 || undefined);

/** Everything that the compute has given out is given back. */
async function nothingIsHeld(t: Test, url: string): Promise<void> {
  const ports = await new Client(url).expect(200, 'GET', '/v2/compute/network/ports');
  t.strictSame([ports['console_ports'], ports['udp_ports']], [[], []]);
}

/** A controller learns of it by a notification only. */
function statusTold({ events }: StockController, { id }: StockNode, status: string): Promise<unknown> {
  return events.next(
    ({ action, event }) => action === 'node.updated' && event['node_id'] === id && event['status'] === status,
  );
}

/** Waits for what a terminal at the port of a console shows. */
async function printed(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'data');
  socket.destroy();
}

async function life(t: Test, kind: ComputeKind): Promise<void> {
  const controller = await StockController.open(t, server.url);
  const { client, events } = controller;
  const { node_types: known } = await client.expect(200, 'GET', '/v2/compute/capabilities');
  t.ok((known as string[]).includes(kind.kind));

  const node = await controller.create(kind, 'PC1');
  t.match(await controller.createAs(kind, node.id, { ...kind.properties, name: 'PC1' }), node, 'asked again');
  const link = await controller.link(node);
  await controller.act(node, 'start');
  t.match(await controller.show(node), { status: 'started' });
  if (kind.isProgram) await statusTold(controller, node, 'started');

  const capture = { capture_file_name: 'a_to_b.pcap', data_link_type: kind.dataLink };
  const { pcap_file_path: path } = await client.expect(200, 'POST', `${link.at}/start_capture`, capture);
  t.equal(path, join(server.data, 'projects', controller.projectId, 'project-files/captures/a_to_b.pcap'));
  const stream = await LiveStream.open(t, controller.pcapOf(link));
  await kind.talk(controller, node, link);
  await stream.reach(25);
  if (kind.isProgram) await printed(Number(node.shown['console']));
  await client.expect(204, 'POST', `${link.at}/stop_capture`);
  t.ok(pcapFile(await stream.ended).packets.length > 0, 'the capture has what crossed the link');

  const filtered = { ...link.nio, filters: { delay: [10, 0] }, suspend: true };
  const changed = await client.put(`${link.at}/nio`, filtered);
  const isSwitch = SWITCHES.includes(kind);
  t.match(changed, isSwitch ? { status: 405 } : { status: 201, body: filtered });

  await controller.act(node, 'suspend');
  await controller.act(node, 'stop');
  if (kind.isProgram) await statusTold(controller, node, 'stopped');
  t.match(await controller.show(node), { status: kind.isProgram ? 'stopped' : 'started' });
  const told = events.next(({ action, event }) => action === 'node.updated' && event['name'] === 'PC7');
  t.match(await client.expect(200, 'PUT', controller.at(node), { name: 'PC7' }), { name: 'PC7' });
  t.match(await told, { event: { node_id: node.id }, project_id: controller.projectId });

  t.equal((await controller.unlink(link)).status, 204);
  t.equal((await controller.unlink(link)).status, 409);
  await client.expect(204, 'DELETE', controller.at(node));
  await events.next(({ action, event }) => action === 'node.deleted' && event['node_id'] === node.id);
  t.equal((await client.delete(controller.at(node))).status, 404);
  await isOver(node);
  await client.expect(204, 'DELETE', controller.path);
  t.equal((await client.delete(controller.path)).status, 404);
  await nothingIsHeld(t, server.url);
}

for (const kind of [...SWITCHES, ...OUTLETS, ...PROGRAMS]) {
  void t.test(
    `the life of a node of the kind ${kind.kind}, call by call`,
    { skip: kind.missing },
    async (t) => {
      await life(t, kind);
    },
  );
}
