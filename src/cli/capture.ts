/** `wirefarm capture`: what passes links from now on, as one pcapng stream into a file or a pipe. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, labAndRest, parseLabWords, wrong } from './lab-command.js';
import { LabServer, type Lab } from './lab-server.js';
import { PacketLines } from './packet-lines.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const { json, ...options } = LAB_OPTIONS;
const OPTIONS = {
  ...options,
  bpf: { type: 'string' },
  decode: { type: 'boolean' },
  write: { type: 'string', short: 'w' },
} as const;

const HELP = [
  'Usage:',
  '  wirefarm capture LAB[/NODE:PORT]... [-w FILE] [--decode] [--bpf EXPRESSION]',
  '      Writes what passes the links at these ports, or all links of the lab, as pcapng into FILE, or into a pipe:',
  '      wirefarm capture lab/SW1:e0 | wireshark -k -i -',
  '      With --decode it writes a line of text for each packet instead: seconds since the first, port, way,',
  '      source, destination, protocol, octets, summary.',
  '      Ends when the lab closes, when the pipe is closed, or by Ctrl-C. --url URL and --ca FILE as with all commands.',
  '',
].join('\n');

export async function capture(args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords('capture', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const file = values.write ?? '-';
  const isText = values.decode === true;
  if (file === '-' && process.stdout.isTTY && !isText)
    throw wrong('capture', 'no terminal shows packets: say --decode, -w FILE, or | PROGRAM');
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const places = words.map(labAndRest);
  const [name, ...others] = new Set(places.map(({ lab }) => lab));
  if (name === undefined || others.length > 0) throw wrong('capture', 'one lab at a time');
  const lab = await server.get(name);
  const ends = places.flatMap(({ rest }) => (rest === undefined ? [] : [rest]));
  // One word for the whole lab stands for all of its links.
  const links = ends.length < places.length ? undefined : await linksAt(server, lab, ends);
  await copied(server, lab, { links, bpf: values.bpf, isText }, file);
}

async function linksAt(server: LabServer, lab: Lab, ends: readonly string[]): Promise<string[]> {
  const links = await server.links(lab);
  return ends.map((end) => {
    const found = links.find((link) => link.ends.includes(end));
    if (found === undefined) throw new CommandError(`there is no link at ${end} in the lab ${lab.name}`);
    return found.id;
  });
}

interface Selection {
  readonly links: readonly string[] | undefined;
  readonly bpf: string | undefined;
  /** Lines of text are written, not pcapng. */
  readonly isText: boolean;
}

async function copied(server: LabServer, lab: Lab, selection: Selection, file: string): Promise<void> {
  const stop = new AbortController();
  const onStop = (): void => {
    stop.abort();
  };
  process.once('SIGTERM', onStop);
  process.once('SIGINT', onStop);
  try {
    const packets = await server.packets(lab, selection.links, selection.bpf);
    const sink = file === '-' ? process.stdout : createWriteStream(file);
    const { signal } = stop;
    if (selection.isText) await pipeline(packets, new PacketLines(), sink, { signal });
    else await pipeline(packets, sink, { signal });
  } catch (error) {
    if (stop.signal.aborted || isClosedPipe(error)) return;
    if (error instanceof CommandError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`the capture of ${lab.name} broke off (${reason})`, { cause: error });
  }
}

function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
