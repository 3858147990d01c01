/** Nodes that start and stop again and again leave nothing behind. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { descriptorsOf } from '../../support/open-descriptors.js';
import { patience } from '../../support/patience.js';
import { rounds } from '../../support/rounds.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';
import { missingVpcs } from '../../support/vpcs.js';

type Json = Record<string, unknown>;

const ROUNDS = rounds(20, 500);
const NODES = 4;
/** In every round of so many a program is killed before it is stopped. */
const KILL_EVERY = 10;

const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const client = new Client(server.url);

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, parent = ''] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8')) ?? [];
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [{ pid: Number(name), parent: Number(parent), command }];
      } catch {
        return [];
      }
    });
}

/** The keeper of the server. */
function keeper(): number {
  const found = processes().find(({ command }) => command.includes(join(server.data, 'run')));
  if (found === undefined) throw new Error('there is no keeper');
  return found.pid;
}

/** Everything in a folder. The folder for files that are being written comes and goes; nothing stays in it. */
function treeOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return found.filter((name) => name !== 'tmp');
}

/** The folders of the cgroup that a process is in. */
function cgroupsOf(pid: number): string[] {
  const [, path = ''] = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8')) ?? [];
  const folder = join('/sys/fs/cgroup', path);
  if (path === '' || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The UDP ports of this host that the server gives out, and that are bound. */
async function udpPorts(): Promise<number[]> {
  const { udp_port_range: range } = await client.expect(200, 'GET', '/v2/computes/local/ports');
  const [first = 0, last = 0] = range as number[];
  return readFileSync('/proc/net/udp', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, hex = ''] = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) /.exec(line) ?? [];
      const port = parseInt(hex, 16);
      return port >= first && port <= last ? [port] : [];
    })
    .sort();
}

/** All that a node could leave behind, as it is now. */
async function remains(path: string): Promise<Json> {
  const pid = keeper();
  const { udp_ports: reserved } = await client.expect(200, 'GET', '/v2/computes/local/ports');
  return {
    programs: processes().filter(({ parent }) => parent === pid).length,
    serverDescriptors: descriptorsOf(server).length,
    keeperDescriptors: readdirSync(`/proc/${pid}/fd`).length,
    reserved,
    bound: await udpPorts(),
    files: [...treeOf(path), ...treeOf(join(server.data, 'run'))],
    cgroups: cgroupsOf(pid),
    // Other programs of the host have namespaces with other names.
    namespaces: treeOf('/run/netns').filter((name) => name.startsWith('wirefarm')),
  };
}

void t.test(
  'rounds of start and stop leave no process, descriptor, port, file, cgroup or namespace behind',
  { skip: missingVpcs(), timeout: patience(3_600_000) },
  async (t) => {
    const project = await client.expect(201, 'POST', '/v2/projects', { name: 'rounds', auto_close: false });
    const path = `/v2/projects/${String(project['project_id'])}`;
    const make = (type: string, name: string): Promise<Json> =>
      client.expect(201, 'POST', `${path}/nodes`, {
        ...{ name, node_type: type, compute_id: 'local' },
        properties: {},
      });
    const hub = await make('ethernet_switch', 'S');
    const nodes: Json[] = [];
    for (let index = 0; index < NODES; index++) {
      const node = await make('vpcs', `PC${index}`);
      nodes.push(node);
      const ends = [
        { node_id: hub['node_id'], adapter_number: 0, port_number: index },
        { node_id: node['node_id'], adapter_number: 0, port_number: 0 },
      ];
      await client.expect(201, 'POST', `${path}/links`, { nodes: ends });
    }
    const round = async (number: number): Promise<void> => {
      await client.expect(204, 'POST', `${path}/nodes/start`);
      const pid = keeper();
      const programs = processes().filter(({ parent }) => parent === pid);
      if (programs.length !== NODES) t.equal(programs.length, NODES, `round ${number}`);
      const [victim] = programs;
      if (number % KILL_EVERY === 0 && victim !== undefined) process.kill(victim.pid, 'SIGKILL');
      await client.expect(204, 'POST', `${path}/nodes/stop`);
    };
    // The first one makes what stays: the keeper, the folders of nodes, connections.
    await round(1);
    const before = await remains(String(project['path']));
    t.equal(before['programs'], 0);
    for (let number = 2; number <= ROUNDS; number++) await round(number);
    let after: Json = {};
    await eventually('what there was before', async () => {
      after = await remains(String(project['path']));
      return JSON.stringify(after) === JSON.stringify(before) ? true : undefined;
    }).catch(() => undefined);
    t.strictSame(after, before);
  },
);
