/** The real server as a child process, on a port of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import { scratchFolder, type Teardown } from './scratch.js';
import { LONGEST_TURN_MS, TurnReports } from './turn-watch.js';

export const MAIN = fileURLToPath(new URL('../../src/server/main.js', import.meta.url));
const WATCHED = fileURLToPath(new URL('./watched-server.js', import.meta.url));

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly port: number;
  readonly url: string;
  readonly data: string;
  /** Everything written to standard error so far: the log, one JSON object a line. */
  readonly log: () => string;
  /** Resolves when the log has such a line: an answer may be here before the line about it. */
  logged(line: RegExp): Promise<unknown>;
  /**
   * Ends the process; resolves with its exit code or signal. Rejects when a turn of the HTTP thread was too long; the
   * end of the test does so otherwise.
   */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

export interface ServerOptions {
  readonly data?: string;
  readonly flags?: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
  /** For a test that is known to hold the HTTP thread: say there what does. */
  readonly allowedTurnMs?: number;
  /** How many descriptors it may have. */
  readonly descriptors?: number;
  /** The network namespace in which it runs. */
  readonly namespace?: string;
  /** Files that it and its programs have in the place of others, by their paths. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** Servers of tests that run at the same time must not give out the same UDP ports. Linux has those below for clients. */
const FIRST_UDP_PORT = 61_000;
const UDP_PORTS_OF_A_JOB = 1000;
const UDP_PORTS_OF_A_SERVER = 100;
const FIRST_OF_MANY = 12_000;
const MANY_UDP_PORTS = 3000;
const FIRST_CONSOLE_PORT = 10_001;
const CONSOLE_JOBS = 4;
const CONSOLE_PORTS_OF_A_JOB = 400;
const CONSOLE_PORTS_OF_A_PART = 100;
/** For a server with thousands of links: what is to be its WIREFARM_UDP_PORTS. Two files of the soak have it, far from each other. */
export const MOST_UDP_PORTS = '24000-31999';
let servers = 0;

/** The first of the UDP ports that one server of a test file has for itself. */
export function ownUdpPorts(): number {
  const job = Number(process.env['TAP_JOB_ID'] ?? 0);
  const server = servers++ % (UDP_PORTS_OF_A_JOB / UDP_PORTS_OF_A_SERVER);
  return FIRST_UDP_PORT + job * UDP_PORTS_OF_A_JOB + server * UDP_PORTS_OF_A_SERVER;
}

function udpPorts(): string {
  const first = ownUdpPorts();
  return `${first}-${first + UDP_PORTS_OF_A_SERVER - 1}`;
}

/** For a server with many links: what is to be its WIREFARM_UDP_PORTS. One of a test file at a time. */
export function manyUdpPorts(): string {
  const first = FIRST_OF_MANY + Number(process.env['TAP_JOB_ID'] ?? 0) * MANY_UDP_PORTS;
  return `${first}-${first + MANY_UDP_PORTS - 1}`;
}

/** The first of the console ports that files of this job have for themselves. */
function firstConsolePort(): number {
  const job = Number(process.env['TAP_JOB_ID'] ?? 0);
  return FIRST_CONSOLE_PORT + (job % CONSOLE_JOBS) * CONSOLE_PORTS_OF_A_JOB;
}

/**
 * For a server whose nodes have consoles that listen: what is to be its WIREFARM_CONSOLE_PORTS. The servers of a file that
 * run at the same time take different parts, from 0 to 3.
 */
export function ownConsolePorts(part = 0): string {
  const first = firstConsolePort() + part * CONSOLE_PORTS_OF_A_PART;
  return `${first}-${first + CONSOLE_PORTS_OF_A_PART - 1}`;
}

/** For a test of the ports that a server has when nobody says which. */
export const CONSOLE_PORTS_BY_DEFAULT = { WIREFARM_CONSOLE_PORTS: '5000-10000' };

const READY = /listens on (https?:\/\/\S+:(\d+))$/;

export async function startServer(t: Teardown, options: ServerOptions = {}): Promise<ServerProcess> {
  const data = options.data ?? scratchFolder(t);
  const node = [process.execPath, WATCHED, '--port', '0', '--data', data, ...(options.flags ?? [])];
  const limit = options.descriptors === undefined ? '' : `ulimit -n ${options.descriptors}; `;
  const mounts = Object.entries(options.mounts ?? {});
  const command = [
    '/bin/sh',
    '-c',
    `${mounts.map(([place, file]) => `mount --bind ${file} ${place}; `).join('')}${limit}exec "$@"`,
    'sh',
    ...node,
  ];
  const [program = '', ...words] = [
    ...(options.namespace === undefined ? [] : ['ip', 'netns', 'exec', options.namespace]),
    ...(mounts.length === 0 ? command : ['unshare', '--mount', ...command]),
  ];
  const child = spawn(program, words, {
    // The server does not get the options that the test runner adds to every Node.js process.
    env: {
      ...{ ...process.env, NODE_OPTIONS: '', WIREFARM_UDP_PORTS: udpPorts() },
      WIREFARM_CONSOLE_PORTS: `${firstConsolePort()}-${firstConsolePort() + CONSOLE_PORTS_OF_A_JOB - 1}`,
      // A test that wants an engine of containers starts its own.
      WIREFARM_DOCKER_SOCKET: '/nowhere/docker.sock',
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const { stdout, stderr } = child as ChildProcess & { stdout: Readable; stderr: Readable };
  const turns = new TurnReports(child.stdio[3] as Readable);
  let log = '';
  stderr.on('data', (bytes: Buffer) => {
    log += bytes.toString();
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const checkTurns = async (): Promise<void> => {
    await Promise.all([exited, turns.ended]);
    const complaint = turns.complaint(options.allowedTurnMs ?? LONGEST_TURN_MS);
    if (complaint !== undefined) throw new Error(complaint);
  };
  t.teardown(async () => {
    child.kill('SIGKILL');
    await checkTurns();
  });
  const ready = new Promise<RegExpExecArray>((resolve) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const match = READY.exec(line);
      if (match !== null) resolve(match);
    });
  });
  const match = await Promise.race([ready, exited.then(() => undefined)]);
  if (match === undefined) throw new Error(`the server ended before it was ready: ${log}`);
  turns.countFromNow();
  return {
    child,
    port: Number(match[2]),
    url: match[1] ?? '',
    data,
    log: () => log,
    logged: (line) => eventually(`the log says ${String(line)}`, () => line.test(log) || undefined),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const [code, by] = await exited;
      await checkTurns();
      return by ?? code;
    },
  };
}
