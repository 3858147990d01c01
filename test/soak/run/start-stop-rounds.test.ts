/** Nodes that start and stop again and again leave nothing behind: virtual PCs, a machine, a router and a NAT. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { descriptorsOf } from '../../support/open-descriptors.js';
import { patience } from '../../support/patience.js';
import { missingQemu } from '../../support/qemu.js';
import { rounds } from '../../support/rounds.js';
import { missingDynamips, routerImage } from '../../support/router-image.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';
import { missingVpcs } from '../../support/vpcs.js';

type Json = Record<string, unknown>;

const ROUNDS = rounds(20, 500);
const PCS = 4;
/** In every round of so many a program is killed before it is stopped. */
const KILL_EVERY = 10;
/** The server may start a few threads later. Each has its own loop of a few descriptors, and stays. */
const LOOPS_OF_THREADS = 40;

const skip = missingVpcs() || missingQemu() || missingDynamips();
const server = await startServer(t, {
  flags: ['--kvm', 'off'],
  environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
});
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

/** The keeper of the server. Programs have paths of the server in their command lines, too. */
function keeper(): number {
  const run = join(server.data, 'run');
  const found = processes().find(({ command }) => command.includes('keeper-worker') && command.includes(run));
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

/** The sockets and files that the server has open, and how many other descriptors it has, such as those of its threads. */
function serverDescriptors(): { serverSockets: number; serverFiles: string[]; serverOthers: number } {
  const open = descriptorsOf(server);
  const serverFiles = open.filter((target) => target.startsWith('/')).sort();
  const serverSockets = open.filter((target) => target.startsWith('socket:')).length;
  return { serverSockets, serverFiles, serverOthers: open.length - serverFiles.length - serverSockets };
}

/** All that a node could leave behind, as it is now. */
async function remains(path: string): Promise<Json> {
  const pid = keeper();
  const { udp_ports: reserved } = await client.expect(200, 'GET', '/v2/computes/local/ports');
  return {
    programs: processes().filter(({ parent }) => parent === pid).length,
    ...serverDescriptors(),
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
  { skip, timeout: patience(3_600_000) },
  async (t) => {
    const project = await client.expect(201, 'POST', '/v2/projects', { name: 'rounds', auto_close: false });
    const path = `/v2/projects/${String(project['project_id'])}`;
    const make = (type: string, name: string, properties: Json = {}): Promise<Json> =>
      client.expect(201, 'POST', `${path}/nodes`, {
        ...{ name, node_type: type, compute_id: 'local' },
        properties,
      });
    const images = join(server.data, 'images', 'IOS');
    mkdirSync(images, { recursive: true });
    writeFileSync(join(images, 'echo.image'), routerImage('router is up\r\n'));
    const link = async (...ends: readonly (readonly [node: Json, port: number])[]): Promise<string> => {
      const made = await client.expect(201, 'POST', `${path}/links`, {
        nodes: ends.map(([{ node_id }, port_number]) => ({ node_id, adapter_number: 0, port_number })),
      });
      return `${path}/links/${String(made['link_id'])}`;
    };
    const hub = await make('ethernet_switch', 'S');
    const nodes = [
      ...(await Promise.all(Array.from({ length: PCS }, (_, index) => make('vpcs', `PC${index}`)))),
      await make('qemu', 'G1', { ram: 32 }),
      await make('dynamips', 'R1', {
        ...{ platform: 'c3600', image: 'echo.image', ram: 64, idlepc: '0x8000802c', slot0: 'NM-1E' },
      }),
    ];
    for (const [index, node] of nodes.entries()) await link([node, 0], [hub, index]);
    const nat = await make('nat', 'NAT1');
    const round = async (number: number): Promise<void> => {
      // The program of a NAT runs while there is a link.
      const way = await link([nat, 0], [hub, nodes.length]);
      await client.expect(204, 'POST', `${path}/nodes/start`);
      const pid = keeper();
      const programs = processes().filter(({ parent }) => parent === pid);
      const wanted = nodes.length + 1;
      if (programs.length !== wanted) t.equal(programs.length, wanted, `round ${number}`);
      const victim = programs[(number / KILL_EVERY) % wanted];
      if (number % KILL_EVERY === 0 && victim !== undefined) process.kill(victim.pid, 'SIGKILL');
      await client.expect(204, 'POST', `${path}/nodes/stop`);
      await client.expect(204, 'DELETE', way);
    };
    // The first one makes what stays: the keeper, the folders of nodes, connections.
    await round(1);
    const before = await remains(String(project['path']));
    t.equal(before['programs'], 0);
    for (let number = 2; number <= ROUNDS; number++) await round(number);
    let after: Json = {};
    await eventually('what there was before', async () => {
      after = await remains(String(project['path']));
      const { serverSockets, serverOthers, keeperDescriptors } = before;
      // Clients' connections that nothing uses are closed after a while, and so are pipes of the first programs.
      after['serverSockets'] = Math.max(Number(after['serverSockets']), Number(serverSockets));
      after['keeperDescriptors'] = Math.max(Number(after['keeperDescriptors']), Number(keeperDescriptors));
      if (Number(after['serverOthers']) <= Number(serverOthers) + LOOPS_OF_THREADS)
        after['serverOthers'] = serverOthers;
      return JSON.stringify(after) === JSON.stringify(before) ? true : undefined;
    }).catch(() => undefined);
    t.strictSame(after, before);
  },
);
