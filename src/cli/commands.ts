/**
 * The table of subcommands. Each is loaded when it is asked for: Wireshark starts this program whenever it
 * starts itself, and waits for it. Exit codes: 0 done, 1 could not be done, 2 the command line is wrong.
 */
import { CommandError, UsageError } from './command-error.js';
import type { Environment } from './server-address.js';

interface Command {
  readonly summary: string;
  run(args: readonly string[], environment: Environment): void | Promise<void>;
}

const COMMANDS = new Map<string, Command>([
  [
    'extcap',
    {
      summary: "puts the links of open projects into Wireshark's list of interfaces",
      run: async (args, environment) => (await import('./extcap.js')).extcap(args, environment),
    },
  ],
  [
    'push',
    {
      summary: 'makes a file an image of the server, and sends only what that has not',
      run: async (args, environment) => (await import('./push.js')).push(args, environment),
    },
  ],
  [
    'pull',
    {
      summary: 'makes an image of the server a file',
      run: async (args, environment) => (await import('./pull.js')).pull(args, environment),
    },
  ],
  [
    'help',
    {
      summary: 'prints this',
      run: () => {
        process.stdout.write(helpText());
      },
    },
  ],
  [
    '--version',
    {
      summary: 'prints the version',
      run: async () => {
        const { PRODUCT } = await import('../base/product.js');
        process.stdout.write(`${PRODUCT.name} ${PRODUCT.version}\n`);
      },
    },
  ],
]);

/** Returns the exit code. */
export async function runCommand(args: readonly string[], environment: Environment): Promise<number> {
  const [given, ...rest] = args;
  try {
    if (given === undefined) throw new UsageError('say what to do: wirefarm help lists the commands');
    const command = COMMANDS.get(given === '--help' ? 'help' : given);
    if (command === undefined) throw new UsageError(`there is no command ${given}: wirefarm help lists them`);
    await command.run(rest, environment);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`wirefarm: ${message}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
}

function helpText(): string {
  const lines = [...COMMANDS].map(([name, { summary }]) => `  wirefarm ${name.padEnd(12)} ${summary}`);
  return [
    'Usage:',
    ...lines,
    '',
    'The server is the one of --url or WIREFARM_URL (http://127.0.0.1:3080 without them),',
    'asked with WIREFARM_USER and WIREFARM_PASSWORD when they are set.',
    '',
  ].join('\n');
}
