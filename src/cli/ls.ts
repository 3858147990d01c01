/** `wirefarm ls`: the labs of a server, or the nodes and links of one lab. */
import { LAB_OPTIONS, parseLabWords, wrong } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { tableOf } from './table.js';

const HELP = [
  'Usage:',
  '  wirefarm ls [LAB] [--json] [--url URL] [--ca FILE]',
  '      Lists the labs; with LAB, which is open, its nodes with their states and console ports, and its links.',
  '',
].join('\n');

export async function ls(args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords('ls', args, LAB_OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const [name, ...more] = words;
  if (more.length > 0) throw wrong('ls', 'one lab at a time');
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const { value, rows } = name === undefined ? await labs(server) : await content(server, name);
  process.stdout.write(values.json === true ? `${JSON.stringify(value)}\n` : tableOf(rows));
}

interface Listing {
  /** For programs. */
  readonly value: unknown;
  /** For people. */
  readonly rows: readonly (readonly string[])[];
}

async function labs(server: LabServer): Promise<Listing> {
  const value = (await server.list()).map(({ name, isOpen }) => ({
    name,
    state: isOpen ? 'open' : 'closed',
  }));
  return { value, rows: value.map(({ name, state }) => [name, state]) };
}

async function content(server: LabServer, name: string): Promise<Listing> {
  const lab = await server.get(name);
  const nodes = (await server.nodes(lab)).map(({ name: node, kind, status, console }) => ({
    ...{ name: node, kind, status },
    console: console ?? null,
  }));
  const links = (await server.links(lab)).map(({ ends, filters }) => ({ ends, filters }));
  return {
    value: { name, nodes, links },
    rows: [
      ...nodes.map(({ name: node, kind, status, console }) => [node, kind, status, String(console ?? '')]),
      ...links.map(({ ends, filters }) => [...ends, ...Object.keys(filters)]),
    ],
  };
}
