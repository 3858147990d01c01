/** etcd as programs of this test, one or several servers, that can be killed and started again. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { patience } from './patience.js';
import { scratchFolder, type Teardown } from './scratch.js';

/** Names the package of what is missing; false when nothing is. */
export function missingEtcd(): string | false {
  const isThere = spawnSync('which', ['etcd']).status === 0;
  return isThere ? false : 'the program etcd is missing: install the package etcd-server';
}

interface Member {
  readonly clients: number;
  readonly peers: number;
  readonly folder: string;
  child?: ChildProcess;
}

/** Ports of which somebody else may take one before etcd does. */
const ATTEMPTS = 5;

export class EtcdCluster {
  readonly #members: readonly Member[];

  private constructor(members: readonly Member[]) {
    this.#members = members;
  }

  /** `folders` has one for each server, where they are not to be in a folder of the test. */
  static async start(t: Teardown, folders: readonly string[] = [scratchFolder(t)]): Promise<EtcdCluster> {
    for (let attempt = 1; ; attempt++) {
      const ports = await freeTcpPorts(2 * folders.length);
      const members = folders.map((folder, index) => ({
        ...{ folder: join(folder, String(attempt)), clients: ports[2 * index] ?? 0 },
        peers: ports[2 * index + 1] ?? 0,
      }));
      const cluster = new EtcdCluster(members);
      try {
        for (const index of members.keys()) cluster.begin(index);
        await cluster.healthy();
        t.teardown(() => cluster.stop());
        return cluster;
      } catch (error) {
        await cluster.stop();
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** As `--farm` has it. */
  address(prefix: string): string {
    return `etcd://${this.#members.map(({ clients }) => `127.0.0.1:${clients}`).join(',')}/${prefix}`;
  }

  get urls(): readonly string[] {
    return this.#members.map(({ clients }) => `http://127.0.0.1:${clients}`);
  }

  begin(index: number): void {
    const member = this.#member(index);
    const url = (port: number): string => `http://127.0.0.1:${port}`;
    const flags = {
      name: `e${index}`,
      'data-dir': member.folder,
      'listen-client-urls': url(member.clients),
      'advertise-client-urls': url(member.clients),
      'listen-peer-urls': url(member.peers),
      'initial-advertise-peer-urls': url(member.peers),
      'initial-cluster': this.#members.map(({ peers }, at) => `e${at}=${url(peers)}`).join(','),
      ...{ logger: 'zap', 'log-level': 'error' },
    };
    const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    member.child = spawn('etcd', words, { stdio: 'ignore' });
  }

  async kill(index: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this.#member(index);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  signal(index: number, signal: NodeJS.Signals): void {
    this.#member(index).child?.kill(signal);
  }

  /** Waits until a change is possible. */
  async healthy(): Promise<void> {
    await eventually('etcd is healthy', async () => {
      if (this.#members.every(({ child }) => child?.exitCode !== null)) throw new Error('etcd has ended');
      for (const url of this.urls) {
        if (await isHealthy(url)) return true;
      }
      return undefined;
    });
  }

  /** The server that leads. */
  async leader(): Promise<number> {
    return eventually('etcd has a leader', async () => {
      for (const [index, url] of this.urls.entries()) {
        const status = (await ask(url, 'maintenance/status', {}).catch(() => ({}))) as {
          leader?: string;
          header?: { member_id: string };
        };
        if (status.leader !== undefined && status.leader === status.header?.member_id) return index;
      }
      return undefined;
    });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#members.keys()].map((index) => this.kill(index)));
  }

  #member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no server ${index}`);
    return member;
  }
}

/** A call of the JSON gateway. */
export async function ask(url: string, path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return answer.json();
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(patience(1000)) });
    const { health } = (await answer.json()) as { health?: string };
    return health === 'true';
  } catch {
    return false;
  }
}

async function freeTcpPorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
