/**
 * The table of subcommands. Each is loaded only when it is called, because Wireshark starts this program whenever it
 * starts itself, and waits for it. Exit codes: 0 for success, 1 for failure, 2 for a wrong command line. Commands on lab
 * files return codes of their own.
 */
import { CommandError, UsageError } from './command-error.js';
import type { Environment } from './server-address.js';

interface Command {
  readonly summary: string;
  /** Returns, or resolves with, the exit code if it is a number. */
  run(args: readonly string[], environment: Environment): unknown;
}

const COMMANDS = new Map<string, Command>([
  [
    'serve',
    {
      summary: 'is the server; wirefarm serve --help lists its flags',
      run: async () => (await import('./serve.js')).serve(),
    },
  ],
  [
    'keeper',
    {
      summary: 'is the keeper of the programs of nodes, as a service beside that of the server',
      run: async () => (await import('./keeper.js')).keeper(),
    },
  ],
  [
    'extcap',
    {
      summary: "adds the links of open projects to Wireshark's list of interfaces",
      run: async (args, environment) => (await import('./extcap.js')).extcap(args, environment),
    },
  ],
  [
    'push',
    {
      summary: 'uploads a file as an image, and sends only the part that the server lacks',
      run: async (args, environment) => (await import('./push.js')).push(args, environment),
    },
  ],
  [
    'pull',
    {
      summary: 'downloads an image to a file',
      run: async (args, environment) => (await import('./pull.js')).pull(args, environment),
    },
  ],
  [
    'tls',
    {
      summary: 'makes a certificate for a server that has none',
      run: async (args) => {
        (await import('./tls.js')).tls(args);
      },
    },
  ],
  [
    'backup',
    {
      summary: 'makes, lists, verifies and downloads backups of a server',
      run: async (args, environment) => (await import('./backup.js')).backup(args, environment),
    },
  ],
  [
    'restore',
    {
      summary: 'makes the data folder of a server from a backup',
      run: async (args) => (await import('./restore.js')).restore(args),
    },
  ],
  [
    'up',
    {
      summary: 'makes a lab as its file says',
      run: async (args, environment) => (await import('./up.js')).up(args, environment),
    },
  ],
  [
    'plan',
    {
      summary: 'tells what up would change',
      run: async (args, environment) => (await import('./up.js')).plan(args, environment),
    },
  ],
  [
    'down',
    {
      summary: 'stops a lab and closes it',
      run: async (args, environment) => (await import('./down.js')).down(args, environment),
    },
  ],
  [
    'export',
    {
      summary: 'writes a lab as a lab file',
      run: async (args, environment) => (await import('./export.js')).exportLab(args, environment),
    },
  ],
  [
    'ls',
    {
      summary: 'lists the labs, or the nodes and links of one',
      run: async (args, environment) => (await import('./ls.js')).ls(args, environment),
    },
  ],
  ...(['start', 'stop'] as const).map((action): [string, Command] => [
    action,
    {
      summary: `${action === 'stop' ? 'stops' : 'starts'} the nodes of a lab, or some of them`,
      run: async (args, environment) => (await import('./start-stop.js')).act(action, args, environment),
    },
  ]),
  [
    'filter',
    {
      summary: 'sets the packet filters of a link',
      run: async (args, environment) => (await import('./filter.js')).filter(args, environment),
    },
  ],
  [
    'capture',
    {
      summary: 'writes what passes links into a file or a pipe',
      run: async (args, environment) => (await import('./capture.js')).capture(args, environment),
    },
  ],
  [
    'console',
    {
      summary: 'connects the terminal to the console of a node',
      run: async (args, environment) => (await import('./console.js')).openConsole(args, environment),
    },
  ],
  [
    'snapshot',
    {
      summary: 'lists, creates, restores and deletes snapshots of a lab',
      run: async (args, environment) => (await import('./snapshot.js')).snapshot(args, environment),
    },
  ],
  ...(['deal', 'collect'] as const).map((command): [string, Command] => [
    command,
    {
      summary:
        command === 'deal'
          ? 'gives each member of a group a copy of a lab'
          : 'creates a snapshot of each copy of a lab',
      run: async (args, environment) => (await import('./deal.js')).deal(command, args, environment),
    },
  ]),
  [
    'end-time',
    {
      summary: 'tells when a lab ends, and sets another end',
      run: async (args, environment) => (await import('./end-time.js')).endTime(args, environment),
    },
  ],
  [
    'top',
    {
      summary: 'shows rates, CPU, disks and labs of a server',
      run: async (args, environment) => (await import('./top.js')).top(args, environment),
    },
  ],
  [
    'user',
    {
      summary: 'makes and repairs accounts, also those of a whole class',
      run: async (args, environment) => (await import('./user.js')).user(args, environment),
    },
  ],
  [
    'audit',
    {
      summary: 'tells whether the audit of a server is as it was written',
      run: async (args, environment) => (await import('./audit.js')).audit(args, environment),
    },
  ],
  [
    'farm',
    {
      summary: 'carries what a stopped server has stored into a farm, or back',
      run: async (args) => (await import('./join-leave.js')).joinOrLeave(args),
    },
  ],
  [
    'health',
    {
      summary: 'tells whether the server takes new work',
      run: async (args, environment) => (await import('./health.js')).health(args, environment),
    },
  ],
  [
    'doctor',
    {
      summary: 'tells what is wrong with this host, and how it is repaired',
      run: async (args, environment) => (await import('./doctor.js')).doctor(args, environment),
    },
  ],
  [
    'drain',
    {
      summary: 'lets the server take no new work, or take it again',
      run: async (args, environment) => (await import('./drain.js')).drain(args, environment),
    },
  ],
  [
    'help',
    {
      summary: 'prints this text',
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
    const code = await command.run(rest, environment);
    return typeof code === 'number' ? code : 0;
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
    'The server is that of --url, else of WIREFARM_URL, else http://127.0.0.1:3080.',
    'A server with a certificate of its own is trusted by --ca FILE or WIREFARM_CA.',
    'If WIREFARM_USER and WIREFARM_PASSWORD are set, they are sent to it.',
    '',
  ].join('\n');
}
