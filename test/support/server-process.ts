/** The real server as a child process, on a port of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { scratchFolder, type Teardown } from './scratch.js';

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly port: number;
  readonly url: string;
  readonly data: string;
  /** Everything written to standard error so far: the log, one JSON object a line. */
  readonly log: () => string;
  /** Ends the process; resolves with its exit code or signal. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

export interface ServerOptions {
  readonly data?: string;
  readonly flags?: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

/** Servers of tests that run at the same time must not give out the same UDP ports. */
const FIRST_UDP_PORT = 24_000;
const UDP_PORTS_OF_A_JOB = 1000;
const UDP_PORTS_OF_A_SERVER = 100;
const FIRST_OF_MANY = 12_000;
const MANY_UDP_PORTS = 3000;
let servers = 0;

function udpPorts(): string {
  const job = Number(process.env['TAP_JOB_ID'] ?? 0);
  const server = servers++ % (UDP_PORTS_OF_A_JOB / UDP_PORTS_OF_A_SERVER);
  const first = FIRST_UDP_PORT + job * UDP_PORTS_OF_A_JOB + server * UDP_PORTS_OF_A_SERVER;
  return `${first}-${first + UDP_PORTS_OF_A_SERVER - 1}`;
}

/** For a server with many links: what is to be its WIREFARM_UDP_PORTS. One of a test file at a time. */
export function manyUdpPorts(): string {
  const first = FIRST_OF_MANY + Number(process.env['TAP_JOB_ID'] ?? 0) * MANY_UDP_PORTS;
  return `${first}-${first + MANY_UDP_PORTS - 1}`;
}

const READY = /listens on (http:\/\/\S+:(\d+))$/;

export async function startServer(t: Teardown, options: ServerOptions = {}): Promise<ServerProcess> {
  const data = options.data ?? scratchFolder(t);
  const child = spawn(process.execPath, [MAIN, '--port', '0', '--data', data, ...(options.flags ?? [])], {
    // What the test runner adds to every Node.js process is not for the server.
    env: { ...process.env, NODE_OPTIONS: '', WIREFARM_UDP_PORTS: udpPorts(), ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (bytes: Buffer) => {
    log += bytes.toString();
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const ready = new Promise<RegExpExecArray>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = READY.exec(line);
      if (match !== null) resolve(match);
    });
  });
  const match = await Promise.race([ready, exited.then(() => undefined)]);
  if (match === undefined) throw new Error(`the server ended before it was ready: ${log}`);
  return {
    child,
    port: Number(match[2]),
    url: match[1] ?? '',
    data,
    log: () => log,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const [code, by] = await exited;
      return by ?? code;
    },
  };
}
