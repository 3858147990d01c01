/** Nodes whose program this host lacks: they are kept and shown whole, and run when it is installed. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const DYNAMIPS = '/usr/bin/dynamips';
const VPCS = '/usr/bin/vpcs';
const skip =
  process.getuid?.() === 0 && existsSync(DYNAMIPS) && existsSync(VPCS)
    ? false
    : 'it hides dynamips and vpcs from a server, as root';
const ABSENT = ['docker', 'dynamips', 'vpcs'];

void t.test('a program that comes while the server runs', { skip }, async (t) => {
  const server = await startServer(t, {
    mounts: { [DYNAMIPS]: '/dev/null', [VPCS]: '/dev/null' },
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
  });
  const install = (program: string): void => {
    execFileSync('nsenter', ['-t', String(server.child.pid), '-m', 'umount', program]);
  };
  const client = new Client(server.url);
  const nodes = ['docker', 'dynamips', 'iou', 'vpcs', 'ethernet_hub'].map((type) => gns3Node(type));
  const { id } = placeGns3Project(`${server.data}/projects`, 'lab', { nodes });
  const lab = `/v2/projects/${id}`;
  await client.expect(200, 'POST', '/v2/reload');
  await client.expect(201, 'POST', `${lab}/open`);
  const shown = async (): Promise<Map<unknown, Json>> => {
    const { body } = await client.get(`${lab}/nodes`);
    return new Map((body as Json[]).map((node) => [node['node_type'], node]));
  };

  await t.test('without it, nodes have the ports that their properties make', async (t) => {
    const found = await shown();
    const names = (type: string): unknown[] =>
      (found.get(type)?.['ports'] as Json[]).map(({ short_name }) => short_name);
    t.same(names('docker'), ['eth0', 'eth1']);
    t.same(names('dynamips'), ['f0/0', 'a1/0', 's2/0', 's2/1', 's2/2', 's2/3']);
    t.same(names('iou').slice(0, 5), ['e0/0', 'e0/1', 'e0/2', 'e0/3', 'e1/0']);
    t.equal(names('iou').length, 16);
    t.same(names('vpcs'), ['e0']);
    t.equal(names('ethernet_hub').length, 8);
  });

  const absentIn = async (path: string): Promise<string[]> => {
    const answer = await client.expect(200, 'GET', path);
    const { node_types: types } = (answer['capabilities'] ?? answer) as { node_types: string[] };
    return ABSENT.filter((type) => !types.includes(type));
  };

  await t.test('each request finds what is there by then', async (t) => {
    for (const path of ['/v2/computes/local', '/v2/compute/capabilities'])
      t.same(await absentIn(path), ABSENT);
    install(VPCS);
    // A kind is looked for once a second at most.
    await eventually('vpcs is found', async () => {
      return (await absentIn('/v2/computes/local')).length === 2 || undefined;
    });
    t.same(await absentIn('/v2/compute/capabilities'), ['docker', 'dynamips']);
    const list = (await client.get('/v2/computes')).body as Json[];
    t.match(list[0], { capabilities: { node_types: /vpcs/ } });
  });

  await t.test('a start of all nodes starts the others, and names those that cannot', async (t) => {
    const { body } = await client.post(`${lab}/nodes/start`);
    t.match(body, { status: 409, code: 'nodes_not_acted_on' });
    const { message } = body as { message: string };
    t.match(message, /^Cannot start 3 of 5 nodes: /);
    t.match(message, /docker-1: This server cannot run nodes of type docker: /);
    t.match(
      message,
      /; dynamips-1: This server cannot run nodes of type dynamips: the program dynamips is not installed/,
    );
    t.match(message, /; iou-1: iou-1 could not be started: /);
    const found = await shown();
    t.match(found.get('vpcs'), { status: 'started' });
    t.match(found.get('dynamips'), { status: 'stopped' });
    await client.expect(204, 'POST', `${lab}/nodes/stop`);
    t.match((await shown()).get('vpcs'), { status: 'stopped' });
  });
});
