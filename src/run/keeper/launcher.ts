/**
 * Starts a program. What makes it ready for its work runs before it in the same process, each step by exec: `nice` sets
 * its priority, `setpriv` asks the kernel to kill it when the keeper dies and takes away its rights, a shell opens its
 * terminal. The namespaces of a confined program are those of this thread while it is started. Call this from the main
 * thread only: the kernel kills a child when the *thread* that started it ends.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { accessSync, chownSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { confinedLabel, MARK_VARIABLE, type SpawnConfinement, type SpawnOrder } from './messages.js';
import { limitProcesses, Namespaces } from './namespaces.js';
import { SYSTEM_PATH } from './program.js';

/**
 * $1 is the keeper's id, $2 the terminal or empty, and the rest the program. The keeper may have died before setpriv
 * asked for the signal: then the parent is another process. A session without a terminal gets the one that it opens.
 * Threads that sleep for moments cost a fraction if the kernel may wake them late; memory that runs out takes a
 * program, and neither the keeper nor the server.
 */
const SCRIPT = `
[ "$PPID" = "$1" ] || exit 125
if [ -n "$2" ]; then exec 0<>"$2" 1>&0 2>&0; else exec 2>&1; fi
{ echo 50000000 >/proc/$$/timerslack_ns; echo 500 >/proc/$$/oom_score_adj; } 2>/dev/null
shift 2
exec "$@"`;

/**
 * The processes and threads of all programs of a node together. The limit is the keeper's own, which they inherit; it
 * does not hold for the superuser.
 */
const MOST_PROCESSES = 1024;

let namespaces: Namespaces | undefined;

/** Resolves when the process is there. Rejects with a sentence for the user. */
export async function launch(
  order: SpawnOrder,
  mark: string,
  stdio: StdioOptions,
  terminal: string,
): Promise<ChildProcess> {
  if (statSync(order.folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Error(`The working folder ${order.folder} is not there`);
  const program = pathOf(order.command, order.folder, order.environment['PATH'] ?? SYSTEM_PATH);
  const nice = order.niceness === 0 ? [] : [step('nice'), '-n', String(order.niceness)];
  const { confinement } = order;
  const rights = confinement === undefined ? [] : rightsOf(confinement);
  const [first = '', ...rest] = [
    ...[...nice, step('setpriv'), '--pdeathsig', 'KILL', '--no-new-privs', ...rights, '--'],
    ...[step('sh'), '-c', SCRIPT, 'sh', String(process.pid), terminal, program, ...order.args],
  ];
  const start = (): ChildProcess =>
    spawn(first, rest, {
      cwd: order.folder,
      env: { ...order.environment, [MARK_VARIABLE]: `${mark}/${order.id}` },
      stdio,
      // A session and a group of its own.
      detached: true,
    });
  const child = confinement === undefined ? start() : confined(confinement, mark, order.id, terminal, start);
  await new Promise<void>((spawned, reject) => {
    child.once('spawn', spawned);
    child.once('error', (error) => {
      reject(new Error(`No process could be started: ${error.message}`));
    });
  });
  return child;
}

/**
 * Without capabilities, and without groups but those of its devices. What the file of a program gives, as that of Dynamips
 * does, is not given where there are no new privileges; a bound that lacks it would have the kernel refuse the file.
 */
function rightsOf({ user, groups }: SpawnConfinement): string[] {
  const id = String(user);
  return [
    ...[
      '--reuid',
      id,
      '--regid',
      id,
      ...(groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join()]),
    ],
    ...['--inh-caps', '-all', '--ambient-caps', '-all'],
  ];
}

function confined<Result>(
  confinement: SpawnConfinement,
  mark: string,
  id: string,
  terminal: string,
  start: () => Result,
): Result {
  if (namespaces === undefined) {
    limitProcesses(MOST_PROCESSES);
    namespaces = new Namespaces();
  }
  const { user, network } = confinement;
  // It opens the terminal once more, to have it as its controlling one.
  if (terminal !== '') chownSync(terminal, user, user);
  return namespaces.within(confinement, network, confinedLabel(mark, id), start);
}

function step(name: string): string {
  const found = search(name, SYSTEM_PATH);
  if (found === undefined) throw new Error(`The program ${name} is missing on this host`);
  return found;
}

/** The file of a command, as a shell finds it. */
function pathOf(command: string, folder: string, path: string): string {
  if (!command.includes('/')) {
    const found = search(command, path);
    if (found === undefined) throw new Error(`There is no program ${command} on this host`);
    return found;
  }
  const file = resolve(folder, command);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new Error(`There is no program ${file}`);
  if (!isExecutable(file)) throw new Error(`There is no permission to run the program ${file}`);
  return file;
}

function search(name: string, path: string): string | undefined {
  return path
    .split(':')
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
