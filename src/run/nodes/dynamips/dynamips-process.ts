/** A Dynamips process, with a connection to its hypervisor port, which listens on the loopback only. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { lastLines } from '../printed-text.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { ProgramConfinement } from '../../keeper/program.js';
import type { NodeMemo } from '../kept-programs.js';
import { Hypervisor } from './hypervisor.js';

export const COMMAND = 'dynamips';
const READY_MS = 30_000;
/** Another program may take a free port before Dynamips does. */
const ATTEMPTS = 3;
const TAKEN = 'unable to create TCP sockets';

/**
 * The keeper lets the kernel wake programs late, by up to 50 ms. A router keeps time by sleeps of milliseconds, and the
 * search for idle-PC values by a thousand of them: Dynamips gets the 50 µs back that programs have otherwise.
 */
const ON_TIME = '{ echo 50000 >/proc/$$/timerslack_ns; } 2>/dev/null; exec "$@"';

export interface DynamipsProcess {
  readonly program: Program;
  readonly hypervisor: Hypervisor;
  /** The hypervisor port. */
  readonly port: number;
  readonly commandLine: string;
}

interface DynamipsOrder {
  /** Names the program: the id of its node. */
  readonly id: string;
  readonly projectId: string;
  /** The working folder: Dynamips makes its tables there, or takes those that it finds. */
  readonly tables: string;
  readonly logFile: string;
  readonly confinement?: ProgramConfinement;
  /** Connects to a port of the program. */
  readonly connect: (port: number) => Promise<Socket>;
  /** The memo of the process that will listen at the port. */
  readonly memo: (commandLine: string, port: number) => NodeMemo;
}

/** Starts a process. When it fails, nothing is left of it, and the error says what it printed. */
export async function startDynamips(keeper: Keeper, order: DynamipsOrder): Promise<DynamipsProcess> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const { id, projectId, tables, logFile, confinement, connect } = order;
    const args = argumentsOf(logFile, port);
    const commandLine = [COMMAND, ...args].join(' ');
    const program = await keeper.spawn({
      ...{ id, command: 'sh', args: ['-c', ON_TIME, 'sh', COMMAND, ...args], folder: tables },
      ...{ environment: {}, console: 'terminal' },
      project: projectId,
      confinement,
      memo: order.memo(commandLine, port),
    });
    try {
      await untilListening(program, port);
      const hypervisor = new Hypervisor(await connect(port));
      return { program, hypervisor, port, commandLine };
    } catch (error) {
      program.kill('SIGKILL');
      await program.ended;
      const printed = lastLines(program.output);
      if (attempt < ATTEMPTS && printed.includes(TAKEN)) continue;
      throw error instanceof Error && printed !== '' ? new Error(`${error.message}\n${printed}`) : error;
    }
  }
}

/** Lets Dynamips make its tables, which confined routers can only read: a process without an image does no harm. */
export async function makeTables(keeper: Keeper, tables: string): Promise<void> {
  const port = await freePort();
  const program = await keeper.spawn({
    ...{
      id: `tables-${randomUUID()}`,
      command: COMMAND,
      args: argumentsOf('/dev/null', port),
      folder: tables,
    },
    ...{ environment: {}, console: 'terminal', memo: null },
    endsWithServer: true,
  });
  try {
    await untilListening(program, port);
  } finally {
    program.kill('SIGKILL');
    await program.ended;
  }
}

function argumentsOf(logFile: string, port: number): string[] {
  return ['-N1', '-l', logFile, '-H', `127.0.0.1:${port}`];
}

/** A TCP port of the loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The host gives no port');
  return address.port;
}

/** Resolves when the process says that it has the port, so that no other process is taken for it. */
async function untilListening(program: Program, port: number): Promise<void> {
  const line = new RegExp(`control server started \\([^)\\n]{0,100}\\b${port}\\)`);
  let tell: () => void = () => undefined;
  const heard = new Promise<'ready'>((resolve) => {
    tell = () => {
      if (line.test(Buffer.from(program.output).toString('latin1'))) resolve('ready');
    };
  });
  const unlisten = program.listen(tell);
  tell();
  let patience: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    patience = setTimeout(resolve, READY_MS, 'late');
  });
  const how = await Promise.race([heard, late, program.ended]);
  clearTimeout(patience);
  unlisten();
  if (how === 'late') throw new Error('Dynamips does not get ready');
  if (how !== 'ready') throw new Error('Dynamips has ended at once');
}
