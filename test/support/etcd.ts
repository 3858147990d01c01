/** etcd as programs of this test, one or several servers, that can be killed and started again. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from './eventually.js';
import { patience } from './patience.js';
import { scratchFolder, type Teardown } from './scratch.js';

/** Names the package of what is missing; false when nothing is. */
export function missingEtcd(): string | false {
  const isThere = spawnSync('which', ['etcd']).status === 0;
  return isThere ? false : 'the program etcd is missing: install the package etcd-server';
}

/** The PEM files of an etcd that speaks TLS and knows its clients by certificates. */
export interface EtcdFiles {
  readonly authority: string;
  readonly server: { readonly certificate: string; readonly key: string };
  readonly client: { readonly certificate: string; readonly key: string };
}

interface EtcdOptions {
  readonly tls?: EtcdFiles;
  readonly flags?: Readonly<Record<string, string>>;
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
  readonly #options: EtcdOptions;

  private constructor(members: readonly Member[], options: EtcdOptions) {
    this.#members = members;
    this.#options = options;
  }

  /** `folders` has one for each server, where they are not to be in a folder of the test. */
  static async start(
    t: Teardown,
    folders: readonly string[] = [scratchFolder(t)],
    options: EtcdOptions = {},
  ): Promise<EtcdCluster> {
    for (let attempt = 1; ; attempt++) {
      const ports = await freeTcpPorts(2 * folders.length);
      const members = folders.map((folder, index) => ({
        ...{ folder: join(folder, String(attempt)), clients: ports[2 * index] ?? 0 },
        peers: ports[2 * index + 1] ?? 0,
      }));
      const cluster = new EtcdCluster(members, options);
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
    return `etcd${this.#s}://${this.#members.map(({ clients }) => `127.0.0.1:${clients}`).join(',')}/${prefix}`;
  }

  get urls(): readonly string[] {
    return this.#members.map(({ clients }) => `http${this.#s}://127.0.0.1:${clients}`);
  }

  get #s(): string {
    return this.#options.tls === undefined ? '' : 's';
  }

  /** A call of the JSON gateway, as a client with a certificate where one is wanted. */
  async ask(path: string, body: unknown, token = ''): Promise<unknown> {
    return JSON.parse(await this.#requested(`${this.urls[0] ?? ''}/v3/${path}`, JSON.stringify(body), token));
  }

  #requested(url: string, body?: string, token = ''): Promise<string> {
    const { tls } = this.#options;
    const files = tls && {
      ca: readFileSync(tls.authority),
      cert: readFileSync(tls.client.certificate),
      key: readFileSync(tls.client.key),
    };
    return new Promise((resolve, reject) => {
      const sent = (tls === undefined ? plainRequest : tlsRequest)(url, {
        ...{ ...files, method: body === undefined ? 'GET' : 'POST', agent: false },
        signal: AbortSignal.timeout(patience(body === undefined ? 1000 : 20_000)),
        headers: token === '' ? {} : { authorization: token },
      });
      sent.once('error', reject);
      sent.once('response', (response) => {
        text(response).then(resolve, reject);
      });
      sent.end(body);
    });
  }

  begin(index: number): void {
    const member = this.#member(index);
    const url = (port: number): string => `http://127.0.0.1:${port}`;
    const { tls, flags: more } = this.#options;
    const flags = {
      name: `e${index}`,
      'data-dir': member.folder,
      'listen-client-urls': this.urls[index] ?? '',
      'advertise-client-urls': this.urls[index] ?? '',
      'listen-peer-urls': url(member.peers),
      'initial-advertise-peer-urls': url(member.peers),
      'initial-cluster': this.#members.map(({ peers }, at) => `e${at}=${url(peers)}`).join(','),
      ...{ logger: 'zap', 'log-level': 'error' },
      ...(tls && {
        'cert-file': tls.server.certificate,
        'key-file': tls.server.key,
        'trusted-ca-file': tls.authority,
      }),
      ...more,
    };
    const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    if (tls !== undefined) words.push('--client-cert-auth');
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
        if (await this.#isHealthy(url)) return true;
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

  async #isHealthy(url: string): Promise<boolean> {
    try {
      const { health } = JSON.parse(await this.#requested(`${url}/health`)) as { health?: string };
      return health === 'true';
    } catch {
      return false;
    }
  }

  #member(index: number): Member {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no server ${index}`);
    return member;
  }
}

/** A call of the JSON gateway. */
export async function ask(
  url: string,
  path: string,
  body: unknown,
  signal: AbortSignal | null = null,
): Promise<unknown> {
  const answer = await fetch(`${url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body), signal });
  return answer.json();
}

async function freeTcpPorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
