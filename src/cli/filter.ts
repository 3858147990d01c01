/** `wirefarm filter`: the packet filters of a link. */
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, labAndRest, parseLabWords, wrong } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const HELP = [
  'Usage:',
  '  wirefarm filter LAB/NODE:PORT [FILTER=VALUE[,VALUE]]... [--json] [--url URL] [--ca FILE]',
  '      Sets the packet filters of the link at this port, in place of those that it has: delay=100,10 packet_loss=5',
  "      'bpf=tcp port 80'. Without a filter, the link has none afterwards.",
  '',
].join('\n');

export async function filter(args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords('filter', args, LAB_OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const [word = '', ...given] = words;
  const { lab: name, rest: end } = labAndRest(word);
  if (end === undefined) throw wrong('filter', 'say which link, by one of its ends: LAB/NODE:PORT');
  const filters = Object.fromEntries(given.map(filterOf));
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const lab = await server.get(name);
  const link = (await server.links(lab)).find(({ ends }) => ends.includes(end));
  if (link === undefined) throw new CommandError(`there is no link at ${end} in the lab ${name}`);
  await server.filter(lab, link, filters);
  const told =
    values.json === true
      ? JSON.stringify({ ends: link.ends, filters })
      : `filters of ${link.ends.join(' ')}: ${given.join(' ') || 'none'}`;
  process.stdout.write(`${told}\n`);
}

/** The values of all filters are numbers, but for expressions, which may have commas. */
function filterOf(word: string): [string, (string | number)[]] {
  const [, type = '', text = ''] = /^(\w+)=(.+)$/s.exec(word) ?? [];
  if (type === '') throw wrong('filter', `'${word}' is no filter: it looks like delay=100,10`);
  if (type === 'bpf') return [type, [text]];
  return [type, text.split(',').map(Number)];
}
