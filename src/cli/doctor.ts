/** `wirefarm doctor`: tells what is wrong with a host, and the commands that repair it. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { examinationText, exitCodeOf, type Examination } from '../operations/doctor/diagnosis.js';
import { CommandError, UsageError } from './command-error.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const HELP = [
  'Usage:',
  '  wirefarm doctor [--json] [--data DIR] [flags of wirefarm serve]',
  '      Examines this host for a server with these settings, whether it runs or not.',
  '  wirefarm doctor [--json] --url URL [--ca FILE]',
  '      Lets a running server examine its host.',
  '  wirefarm doctor --bundle FILE [--log FILE] [--url URL] [--data DIR] [flags of wirefarm serve]',
  '      Examines this host, and packs that, the settings, the ends of the logs, the history and the figures of the',
  '      server, without secrets, for a support request.',
  '',
  'Ends with 0 when nothing is wrong, with 1 after warnings, and with 2 when something fails.',
  '',
].join('\n');

const LEVEL = z.enum(['ok', 'note', 'warning', 'failure']);
const EXAMINATION: z.ZodType<Examination> = z.object({
  level: LEVEL,
  checks: z.array(
    z.object({
      id: z.string(),
      level: LEVEL,
      found: z.string(),
      means: z.string().optional(),
      repair: z.string().optional(),
    }),
  ),
});

const OPTIONS = { ca: { type: 'string' }, json: { type: 'boolean' }, url: { type: 'string' } } as const;

/** Returns the exit code. */
export async function doctor(args: readonly string[], environment: Environment): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  const has = (flag: RegExp): boolean => args.some((word) => flag.test(word));
  if (has(/^--url(=|$)/) && !has(/^--bundle(=|$)/)) return ofServer(args, environment);
  // It reads the settings as the server does, and sets the exit code.
  await import(new URL('../server/main.js', import.meta.url).href);
  return Number(process.exitCode ?? 0);
}

async function ofServer(args: readonly string[], environment: Environment): Promise<number> {
  const { url, ca, json = false } = parsed(args);
  const server = new Server(serverAddress(url, environment, ca));
  const { data } = EXAMINATION.safeParse(await server.json('GET', '/v2/admin/doctor'));
  if (data === undefined)
    throw new CommandError(`${server.origin} does not examine its host: is that a Wirefarm server?`);
  process.stdout.write(json ? `${JSON.stringify(data, null, 2)}\n` : examinationText(data));
  return exitCodeOf(data);
}

function parsed(
  args: readonly string[],
): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'] {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm doctor --help)`, { cause: error });
  }
}
