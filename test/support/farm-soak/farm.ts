/** A farm of real processes, each in a network of its own: three Wirefarms, three servers of etcd, two computes. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { ask, missingEtcd } from '../etcd.js';
import { eventually } from '../eventually.js';
import { lackForNamespaces } from '../network-namespace.js';
import { patience } from '../patience.js';
import { NO_POWER_DISK, PowerDisk } from '../power-disk.js';
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

const SPARE_BYTES = 32 * 1024 * 1024;
const HOUR_S = 3600;
const STORE_ANSWERS_MS = 2000;

/** A host with its program. */
interface Place {
  readonly host: SoakHost;
  readonly folder: string;
  process?: ServerProcess;
  child?: ChildProcess;
}

interface StorePlace extends Place {
  readonly disk: PowerDisk;
}

/** Names what is missing for a farm; false when nothing is. */
export function lackForFarm(): string | false {
  const lack = missingEtcd() || lackForNamespaces();
  if (lack !== false || clockLibrary() !== undefined) return lack;
  return 'the library libfaketime is missing: install the package faketime';
}

export class SoakFarm {
  readonly network: SoakNetwork;
  readonly stores: readonly StorePlace[];
  readonly servers: readonly Place[];
  readonly computes: readonly Place[];
  /** Everything that Wirefarms have logged, by their addresses. */
  readonly processes: { readonly address: string; readonly process: ServerProcess }[] = [];
  /** Resolves once everybody who wants to know all of the history has it, up to a revision. */
  beforeCompaction: (revision: number) => Promise<unknown> = () => Promise.resolve();
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
    this.stores = places('store', STORES).map(({ host }) => ({ host, ...onPowerDisk(t) }));
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
    if (fault.kind === 'cut') return this.#cut(fault);
    if (fault.kind === 'power') return this.#cutPower(fault.stores);
    if (fault.kind === 'full') return this.#fill(fault.index);
    if (fault.kind === 'clock') return this.#moveClock(fault);
    if (fault.kind === 'compaction') return this.#compact();
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

  #cut({ index, from, compute, way }: Extract<Fault, { kind: 'cut' }>): () => Promise<unknown> {
    const { host } = placeAt(this.servers, index);
    const others = {
      stores: this.stores,
      servers: this.servers.filter((_, at) => at !== index),
      compute: [placeAt(this.computes, compute)],
    }[from];
    const ways = others.flatMap(({ host: other }) => [
      ...(way === 'in' ? [] : [[host, other] as const]),
      ...(way === 'out' ? [] : [[other, host] as const]),
    ]);
    for (const [one, other] of ways) this.network.cut(one, other);
    return () => {
      for (const [one, other] of ways) this.network.heal(one, other);
      return Promise.resolve();
    };
  }

  async #cutPower(indexes: readonly number[]): Promise<() => Promise<unknown>> {
    const places = indexes.map((index) => placeAt(this.stores, index));
    for (const { child } of places) child?.kill('SIGSTOP');
    for (const { disk } of places) await disk.cut();
    await Promise.all(places.map(({ child }) => end(child, 'SIGKILL')));
    for (const { disk } of places) await disk.restorePower();
    return () => {
      for (const index of indexes) this.#beginStore(index);
      return Promise.resolve();
    };
  }

  /** etcd ends by itself when it cannot write, sooner or later. */
  #fill(index: number): () => Promise<unknown> {
    const place = placeAt(this.stores, index);
    const [most, rest] = ['most', 'rest'].map((name) => join(place.disk.folder, name));
    const { bavail, bsize } = statfsSync(place.disk.folder);
    // The file system needs a part of what is free for itself.
    execFileSync('fallocate', ['--length', String(bavail * bsize - SPARE_BYTES), most ?? '']);
    spawnSync('dd', ['if=/dev/zero', `of=${rest ?? ''}`, 'bs=64K']);
    return () => {
      for (const path of [most, rest]) rmSync(path ?? '');
      if (hasEnded(place.child)) this.#beginStore(index);
      return Promise.resolve();
    };
  }

  /** The server starts again by the clock of the host when it is healed. */
  async #moveClock({ index, hours }: Extract<Fault, { kind: 'clock' }>): Promise<() => Promise<unknown>> {
    const { process } = placeAt(this.servers, index);
    await process?.stop('SIGKILL');
    await this.#beginServer(index, {
      LD_PRELOAD: clockLibrary() ?? '',
      FAKETIME: `${hours > 0 ? '+' : '-'}${HOUR_S}`,
      // Nobody moves the clock that counts from the start of the host.
      DONT_FAKE_MONOTONIC: '1',
    });
    return async () => {
      await placeAt(this.servers, index).process?.stop('SIGKILL');
      await this.#beginServer(index);
    };
  }

  /** Servers that have not followed so far must read everything anew. A server of etcd that does not answer is left out. */
  async #compact(): Promise<() => Promise<unknown>> {
    const revision = await this.#revision();
    if (revision !== undefined) {
      await this.beforeCompaction(Number(revision));
      await this.#askStores('kv/compaction', { revision, physical: true });
    }
    for (const url of this.storeUrls) await asked(url, 'maintenance/defragment', {});
    return () => Promise.resolve();
  }

  /** The revision of etcd; undefined when none of its servers knows. */
  async #revision(): Promise<string | undefined> {
    const read = (await this.#askStores('kv/range', { key: 'AA==' })) as { header?: { revision: string } };
    return read.header?.revision;
  }

  /** The answer of the first server of etcd that has one. */
  async #askStores(path: string, body: unknown): Promise<object> {
    for (const url of this.storeUrls) {
      const answer = await asked(url, path, body);
      if ('header' in answer) return answer;
    }
    return {};
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

  async #beginServer(index: number, environment: NodeJS.ProcessEnv = {}): Promise<void> {
    const place = placeAt(this.servers, index);
    await eventually('etcd answers', async () => (await this.#revision()) !== undefined || undefined);
    const stores = this.stores.map(({ host }) => `${host.address}:2379`).join(',');
    const more = ['--farm', `etcd://${stores}/${PREFIX}`, '--advertise', urlOf(place.host)];
    await this.#begin(place, more, environment);
  }

  #beginCompute(index: number): Promise<void> {
    return this.#begin(placeAt(this.computes, index), []);
  }

  async #begin(place: Place, more: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<void> {
    place.process = await startServer(this.#t, {
      data: place.folder,
      namespace: place.host.namespace.name,
      allowedTurnMs: LONGEST_TURN_MS,
      environment: {
        WIREFARM_PASSWORD: PASSWORD,
        WIREFARM_UDP_PORTS: '20000-20999',
        WIREFARM_CONSOLE_PORTS: '5000-5999',
        ...environment,
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

/** An empty answer where there is none in time. */
async function asked(url: string, path: string, body: unknown): Promise<object> {
  const signal = AbortSignal.timeout(patience(STORE_ANSWERS_MS));
  return (await ask(url, path, body, signal).catch(() => ({}))) as object;
}

function onPowerDisk(t: Teardown): { readonly disk: PowerDisk; readonly folder: string } {
  const disk = PowerDisk.make(t);
  if (disk === undefined) throw new Error(NO_POWER_DISK);
  const folder = join(disk.folder, 'etcd');
  mkdirSync(folder, { mode: 0o700 });
  return { disk, folder };
}

/** The library that tells a program another time, of the package faketime. */
function clockLibrary(): string | undefined {
  return readdirSync('/usr/lib')
    .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path));
}

function placeAt<Found extends Place>(places: readonly Found[], index: number): Found {
  const place = places[index];
  if (place === undefined) throw new RangeError(`there is no host ${index}`);
  return place;
}

function hasEnded(child: ChildProcess | undefined): boolean {
  return child === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}
