/** `wirefarm health`: tells whether the server takes new work. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { CommandError, UsageError } from './command-error.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const HELP = [
  'Usage:',
  '  wirefarm health [--url URL] [--ca FILE]',
  '      Ends with 0 when the server takes new work, and with 1 when it does not, with the reasons.',
  '',
].join('\n');

/** The server itself takes five seconds at most. */
const LIMIT_MS = 10_000;

const HEALTH = z.object({ message: z.string(), failing: z.array(z.string()).default([]) });

export async function health(args: readonly string[], environment: Environment): Promise<void> {
  const { help = false, url, ca } = parse(args);
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  const server = new Server(serverAddress(url, environment, ca));
  const signal = AbortSignal.timeout(LIMIT_MS);
  const response = await server.ask('/readyz', { method: 'GET', signal });
  const { message, failing } = readHealth(await server.textOf(response), server.origin);
  if (response.statusCode !== 200) throw new CommandError([message, ...failing].join('; '));
  process.stdout.write(`${message}\n`);
}

function parse(args: readonly string[]): { help?: boolean; url?: string; ca?: string } {
  const options = { ca: { type: 'string' }, help: { type: 'boolean' }, url: { type: 'string' } } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm health --help)`, { cause: error });
  }
}

function readHealth(text: string, origin: string): z.output<typeof HEALTH> {
  try {
    return HEALTH.parse(JSON.parse(text));
  } catch (error) {
    throw new CommandError(`${origin} does not tell its health: is that a Wirefarm server?`, {
      cause: error,
    });
  }
}
