/** A farm of real processes, each in a network of its own: three Wirefarms, three servers of etcd, two computes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from '../etcd.js';
import { eventually } from '../eventually.js';
import { scratchFolder, type Teardown } from '../scratch.js';
import { startServer, type ServerProcess } from '../server-process.js';
import { SoakNetwork, type SoakHost } from './network.js';
import { COMPUTES, SERVERS, STORES, type Fault } from './plan.js';

export const PREFIX = 'soak';
export const PORT = 3080;
const USER = 'ann';
const PASSWORD = 'hush';
export const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
/** Turns of the HTTP thread are judged by other tests, on a machine that has more to give. */
const LONGEST_TURN_MS = 5000;

/** A host with its program. */
interface Place {
  readonly host: SoakHost;
  readonly folder: string;
  process?: ServerProcess;
  child?: ChildProcess;
}

export class SoakFarm {
  readonly network: SoakNetwork;
  readonly stores: readonly Place[];
  readonly servers: readonly Place[];
  readonly computes: readonly Place[];
  /** Everything that Wirefarms have logged, by their addresses. */
  readonly processes: { readonly address: string; readonly process: ServerProcess }[] = [];
  readonly #t: Teardown;

  private constructor(t: Teardown) {
    this.#t = t;
    this.network = new SoakNetwork(t);
    const folder = scratchFolder(t);
    const places = (name: string, count: number): Place[] =>
      Array.from({ length: count }, (_, index) => {
        const own = join(folder, `${name}${index}`);
        mkdirSync(own, { mode: 0o700 });
        return { host: this.network.host(`${name}${index}`), folder: own };
      });
    this.stores = places('store', STORES);
    this.servers = places('server', SERVERS);
    this.computes = places('compute', COMPUTES.length);
    t.teardown(() => Promise.all(this.stores.map((place) => end(place.child, 'SIGKILL'))));
  }

  static async start(t: Teardown): Promise<SoakFarm> {
    const farm = new SoakFarm(t);
    farm.stores.forEach((_, index) => {
      farm.#beginStore(index);
    });
    await Promise.all(COMPUTES.map((_, index) => farm.#beginCompute(index)));
    await eventually('etcd answers', async () => {
      const [url = ''] = farm.storeUrls;
      const answer = await ask(url, 'kv/range', { key: 'AA==' }).catch(() => ({}));
      return 'header' in (answer as object) || undefined;
    });
    for (const index of farm.servers.keys()) await farm.#beginServer(index);
    return farm;
  }

  get storeUrls(): readonly string[] {
    return this.stores.map(({ host }) => `http://${host.address}:2379`);
  }

  get serverUrls(): readonly string[] {
    return this.servers.map(({ host }) => urlOf(host));
  }

  get computeUrls(): readonly string[] {
    return this.computes.map(({ host }) => urlOf(host));
  }

  /** Lets a fault happen. Resolves with what heals it. */
  async strike(fault: Fault): Promise<() => Promise<unknown>> {
    if (fault.kind === 'cut') {
      const { host } = placeAt(this.servers, fault.index);
      const others = {
        stores: this.stores,
        servers: this.servers.filter((_, index) => index !== fault.index),
        compute: [placeAt(this.computes, fault.compute)],
      }[fault.from];
      for (const other of others) this.network.cut(host, other.host);
      return () => {
        for (const other of others) this.network.heal(host, other.host);
        return Promise.resolve();
      };
    }
    const { index } = fault;
    const places = { server: this.servers, store: this.stores, compute: this.computes }[fault.part];
    const { child, process } = placeAt(places, index);
    const program = process?.child ?? child;
    if (fault.kind === 'pause') {
      program?.kill('SIGSTOP');
      return () => Promise.resolve(program?.kill('SIGCONT'));
    }
    const signal = fault.kind === 'kill' ? 'SIGKILL' : 'SIGTERM';
    await (process === undefined ? end(program, signal) : process.stop(signal));
    return {
      server: () => this.#beginServer(index),
      compute: () => this.#beginCompute(index),
      store: () => {
        this.#beginStore(index);
        return Promise.resolve();
      },
    }[fault.part];
  }

  #beginStore(index: number): void {
    const place = placeAt(this.stores, index);
    const { host, folder } = place;
    const [clients, peers] = [`http://${host.address}:2379`, `http://${host.address}:2380`];
    const flags = {
      name: host.name,
      'data-dir': folder,
      'listen-client-urls': clients,
      'advertise-client-urls': clients,
      'listen-peer-urls': peers,
      'initial-advertise-peer-urls': peers,
      'initial-cluster': this.stores
        .map((each) => `${each.host.name}=http://${each.host.address}:2380`)
        .join(','),
      logger: 'zap',
      'log-level': 'error',
    };
    const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    const inside = ['netns', 'exec', host.namespace.name, 'etcd', ...words];
    place.child = spawn('ip', inside, { stdio: 'ignore' });
  }

  async #beginServer(index: number): Promise<void> {
    const place = placeAt(this.servers, index);
    const stores = this.stores.map(({ host }) => `${host.address}:2379`).join(',');
    const more = ['--farm', `etcd://${stores}/${PREFIX}`, '--advertise', urlOf(place.host)];
    await this.#begin(place, more);
  }

  #beginCompute(index: number): Promise<void> {
    return this.#begin(placeAt(this.computes, index), []);
  }

  async #begin(place: Place, more: readonly string[]): Promise<void> {
    place.process = await startServer(this.#t, {
      data: place.folder,
      namespace: place.host.namespace.name,
      allowedTurnMs: LONGEST_TURN_MS,
      environment: {
        WIREFARM_PASSWORD: PASSWORD,
        WIREFARM_UDP_PORTS: '20000-20999',
        WIREFARM_CONSOLE_PORTS: '5000-5999',
      },
      flags: [
        ...['--host', '0.0.0.0', '--port', String(PORT), '--user', USER],
        ...['--nio-networks', SoakNetwork.all, ...more],
      ],
    });
    this.processes.push({ address: urlOf(place.host), process: place.process });
  }
}

const urlOf = ({ address }: SoakHost): string => `http://${address}:${PORT}`;

function placeAt(places: readonly Place[], index: number): Place {
  const place = places[index];
  if (place === undefined) throw new RangeError(`there is no host ${index}`);
  return place;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}
