/** `wirefarm drain`: the server takes no new work, and what is under way ends; or one compute takes no new nodes. */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CommandError, UsageError } from './command-error.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const HELP = [
  'Usage:',
  '  wirefarm drain [--wait] [--off] [--url URL] [--ca FILE]',
  '  wirefarm drain --compute ID [--off] [--url URL] [--ca FILE]',
  '      No project opens, no node starts, no upload and no job begins from now on; nodes that run go on.',
  '      With --wait it returns when no job and no upload is under way; --off takes new work again.',
  '      With --compute no new node goes to that compute from now on; what is there stays and runs.',
  '',
].join('\n');

const PATH = '/v2/admin/drain';
const LOOK_MS = 500;
const COMPUTE_STATE = z.object({ on: z.boolean() });
const STATE = z.object({ jobs: z.number(), on: z.boolean(), uploads: z.number() });

type State = z.output<typeof STATE>;

export async function drain(args: readonly string[], environment: Environment): Promise<void> {
  const { help = false, wait = false, off = false, compute, url, ca } = parse(args);
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  const server = new Server(serverAddress(url, environment, ca));
  if (compute !== undefined) {
    const path = `/v2/computes/${encodeURIComponent(compute)}/drain`;
    const state = checked(COMPUTE_STATE, await server.json('POST', path, { on: !off }), server.origin);
    process.stdout.write(`Compute ${compute} takes ${state.on ? 'no new nodes' : 'new nodes'}\n`);
    return;
  }
  const ask = async (method: string, body?: unknown): Promise<State> =>
    checked(STATE, await server.json(method, PATH, body), server.origin);
  let state = await ask('POST', { on: !off });
  while (wait && state.on && isBusy(state)) {
    await delay(LOOK_MS);
    state = await ask('GET');
  }
  process.stdout.write(`${sentenceOf(state)}\n`);
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'] {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true });
    if (values.wait === true && values.off === true) throw new Error('--wait and --off exclude each other');
    if (values.wait === true && values.compute !== undefined)
      throw new Error('--wait and --compute exclude each other');
    return values;
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm drain --help)`, { cause: error });
  }
}

const OPTIONS = {
  ca: { type: 'string' },
  compute: { type: 'string' },
  help: { type: 'boolean' },
  off: { type: 'boolean' },
  url: { type: 'string' },
  wait: { type: 'boolean' },
} as const;

function checked<Output>(shape: z.ZodType<Output>, answer: unknown, origin: string): Output {
  const { data } = shape.safeParse(answer);
  if (data === undefined)
    throw new CommandError(`${origin} does not tell whether it drains: is that a Wirefarm server?`);
  return data;
}

function isBusy({ jobs, uploads }: State): boolean {
  return jobs + uploads > 0;
}

function sentenceOf(state: State): string {
  if (!state.on) return 'The server takes new work';
  const rest = isBusy(state)
    ? `${state.jobs} jobs and ${state.uploads} uploads are under way`
    : 'nothing is under way';
  return `The server takes no new work, and ${rest}`;
}
