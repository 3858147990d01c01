/** `wirefarm extcap`: the calls of Wireshark (extcap(4)), and `--install`, which installs the program there. */
import { parseArgs } from 'node:util';
import { CommandError, UsageError } from './command-error.js';
import { carry } from './extcap-capture.js';
import { interfaceSentences } from './extcap-interfaces.js';
import {
  CONFIG_SENTENCES,
  DLT_SENTENCES,
  extcapSentence,
  parseInterface,
  type ExtcapInterface,
} from './extcap-sentences.js';
import { Refused, Server, Unreachable } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const OPTIONS = {
  bpf: { type: 'string' },
  capture: { type: 'boolean' },
  cells: { type: 'boolean' },
  'extcap-capture-filter': { type: 'string' },
  'extcap-config': { type: 'boolean' },
  'extcap-dlts': { type: 'boolean' },
  'extcap-interface': { type: 'string' },
  'extcap-interfaces': { type: 'boolean' },
  /** The version of Wireshark. */
  'extcap-version': { type: 'string' },
  fifo: { type: 'string' },
  folder: { type: 'string' },
  help: { type: 'boolean' },
  install: { type: 'boolean' },
  sample: { type: 'string' },
  snaplen: { type: 'string' },
  url: { type: 'string' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

const HELP = [
  'Usage:',
  '  wirefarm extcap --install [--folder DIR] [--url URL]',
  "      Adds the links of open projects to Wireshark's list of interfaces: writes the program that",
  '      Wireshark calls to the extcap folder of this user, or to DIR. The program keeps the URL.',
  '  wirefarm extcap --extcap-interfaces [--url URL]',
  '      Prints the list. The other options, with which Wireshark calls this, are in extcap(4).',
];

const README = new URL('../../../README.md', import.meta.url).href;

export async function extcap(args: readonly string[], environment: Environment): Promise<void> {
  const lines = await answer(valuesOf(args), environment);
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

async function answer(values: Values, environment: Environment): Promise<readonly string[]> {
  if (values.help === true) return HELP;
  if (values.install === true) {
    const { install } = await import('./extcap-install.js');
    return install(values.folder, values.url, environment);
  }
  const server = new Server(serverAddress(values.url, environment));
  if (values['extcap-interfaces'] === true) return interfacesOf(server);
  const from = interfaceOf(values);
  if (values['extcap-dlts'] === true) return DLT_SENTENCES;
  if (values['extcap-config'] === true) return CONFIG_SENTENCES;
  const open = () => server.stream(`/v2/projects/${from.projectId}/pcap`, queryOf(from, values));
  if (values.capture === true) {
    if (values.fifo === undefined) throw new UsageError('--capture needs --fifo');
    await carry(open, values.fifo);
    return [];
  }
  if (values['extcap-capture-filter'] !== undefined) return objections(open);
  throw new UsageError('say what to do with the interface: --capture, --extcap-config or --extcap-dlts');
}

function valuesOf(args: readonly string[]): Values {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm extcap --help)`, { cause: error });
  }
}

function interfaceOf(values: Values): ExtcapInterface {
  const given = values['extcap-interface'];
  if (given === undefined) throw new UsageError('say what to do: wirefarm extcap --help');
  const found = parseInterface(given);
  if (found === undefined)
    throw new UsageError(`there is no interface ${given}: --extcap-interfaces lists them`);
  return found;
}

/** Wireshark runs this whenever it starts, so a missing server is no error: there is nothing to list. */
async function interfacesOf(server: Server): Promise<string[]> {
  const { PRODUCT } = await import('../base/product.js');
  const head = extcapSentence(PRODUCT.version, README);
  try {
    return [head, ...(await interfaceSentences(server))];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (!(error instanceof Unreachable)) process.stderr.write(`wirefarm: ${error.message}\n`);
    return [head];
  }
}

/** Checks a filter, as Wireshark asks, by opening the stream; returns the error of the server, or nothing. */
async function objections(open: () => ReturnType<Server['stream']>): Promise<string[]> {
  try {
    (await open()).destroy();
    return [];
  } catch (error) {
    if (error instanceof Refused) return [error.message];
    throw error;
  }
}

function queryOf({ linkId }: ExtcapInterface, values: Values): URLSearchParams {
  const query = new URLSearchParams();
  if (linkId !== undefined) query.set('links', linkId);
  const [filter, other] = [values['extcap-capture-filter'], values.bpf].filter(isGiven);
  if (filter !== undefined) query.set('bpf', other === undefined ? filter : `(${filter}) and (${other})`);
  if (isGiven(values.snaplen)) query.set('snaplen', values.snaplen);
  if (isGiven(values.sample)) query.set('sample', values.sample);
  if (values.cells === true) query.set('cells', 'true');
  return query;
}

/** Wireshark may pass an empty field. */
function isGiven(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}
