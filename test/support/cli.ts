/** The program `wirefarm` as a process, servers for it, and a lab with a link whose packets come from a socket. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Client } from './client.js';
import type { Teardown } from './scratch.js';
import { freePort, UdpPeer } from './udp-peer.js';

export const PROGRAM = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** A child process whose output is kept. What the test runner adds to every Node.js process is not for it. */
export class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  output = '';
  errors = '';

  /** Without input, the child has none. */
  constructor(
    t: Teardown,
    program: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
    input?: string,
  ) {
    this.child = spawn(program, args, {
      env: { ...process.env, NODE_OPTIONS: '', ...environment },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.child.stdin?.end(input);
    t.teardown(() => this.child.kill('SIGKILL'));
    this.child.stdout?.on('data', (bytes: Buffer) => (this.output += bytes.toString()));
    this.child.stderr?.on('data', (bytes: Buffer) => (this.errors += bytes.toString()));
    this.ended = once(this.child, 'close').then(([code]: (number | null)[]) => ({
      code: code ?? null,
      output: this.output,
      errors: this.errors,
    }));
  }
}

export function startCli(
  t: Teardown,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  input?: string,
): Program {
  return new Program(t, process.execPath, [PROGRAM, ...args], environment, input);
}

/** Runs `wirefarm` to its end; without an input its standard input is empty. */
export function cli(
  t: Teardown,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  input?: string,
): Promise<Ended> {
  return startCli(t, args, environment, input).ended;
}

/** Runs `wirefarm` to its end, with a pipe that has this text. */
export function cliWithInput(t: Teardown, args: readonly string[], input: string): Promise<Ended> {
  return new Program(t, process.execPath, [PROGRAM, ...args], {}, input).ended;
}

/** `wirefarm` in a terminal. `keys` are typed when it has printed what they wait for. */
export async function cliInTerminal(
  t: Teardown,
  args: readonly string[],
  keys: readonly (readonly [awaited: string, typed: string])[],
): Promise<Ended> {
  const command = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'close') as Promise<[number | null]>;
  let output = '';
  const left = [...keys];
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString();
    for (;;) {
      const [awaited, typed] = left[0] ?? [];
      if (awaited === undefined || !output.includes(awaited)) return;
      left.shift();
      child.stdin.write(typed);
    }
  });
  const [code] = await ended;
  return { code, output, errors: '' };
}

/** A server that answers as the test wants; returns its address. */
export async function serving(t: Teardown, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const FRAME_OCTETS = 60;

/** An Ethernet switch and a hub, linked at their first ports. What is sent is flooded over the link. */
export class LinkedLab {
  readonly projectId: string;
  readonly linkId: string;
  readonly #peer: UdpPeer;
  readonly #port: number;
  #sent = 0;

  private constructor(projectId: string, linkId: string, peer: UdpPeer, port: number) {
    this.projectId = projectId;
    this.linkId = linkId;
    this.#peer = peer;
    this.#port = port;
  }

  static async open(
    t: Teardown,
    client: Client,
    project: string,
    nodes: readonly [string, string],
  ): Promise<LinkedLab> {
    const made = await client.expect(201, 'POST', '/v2/projects', { name: project, auto_close: false });
    const projectId = String(made['project_id']);
    const path = `/v2/projects/${projectId}`;
    const node = async (kind: string, name: string): Promise<string> => {
      const body = { name, node_type: kind, compute_id: 'local' };
      return String((await client.expect(201, 'POST', `${path}/nodes`, body))['node_id']);
    };
    const ends = [await node('ethernet_switch', nodes[0]), await node('ethernet_hub', nodes[1])];
    const link = await client.expect(201, 'POST', `${path}/links`, {
      nodes: ends.map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 })),
    });
    const peer = await UdpPeer.open(t);
    const port = await freePort();
    await client.expect(
      201,
      'POST',
      `/v2/compute/projects/${projectId}/ethernet_switch/nodes/${ends[0] ?? ''}/adapters/0/ports/1/nio`,
      { type: 'nio_udp', lport: port, rhost: '127.0.0.1', rport: peer.port },
    );
    return new LinkedLab(projectId, String(link['link_id']), peer, port);
  }

  get interfaceName(): string {
    return `wirefarm-${this.projectId}-${this.linkId}`;
  }

  /** Broadcasts with their number in the two octets after the header; returns how many were sent before. */
  async send(count: number): Promise<number> {
    const before = this.#sent;
    const frames = Array.from({ length: count }, () => broadcast(this.#sent++));
    await this.#peer.send(this.#port, frames);
    return before;
  }
}

/** A broadcast frame of an EtherType that nobody has given a meaning. */
function broadcast(number: number): Buffer {
  const frame = Buffer.alloc(FRAME_OCTETS);
  frame.fill(0xff, 0, 6);
  frame.writeUIntBE(0x02_00_00_00_00_01, 6, 6);
  frame.writeUInt16BE(0x88b5, 12);
  frame.writeUInt16BE(number, 14);
  return frame;
}
