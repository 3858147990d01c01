/**
 * A farm in simulated time: servers that own labs on one simulated etcd, clients that ask any of them, and faults. All of
 * it follows from a seed.
 */
import { pino } from 'pino';
import type { Change, Claim, StoredRecord } from '../../src/base/store/store.js';
import { FarmRecords } from '../../src/farm/farm-records.js';
import { FarmStore, scopeOf } from '../../src/farm/farm-store.js';
import { Freshness } from '../../src/farm/freshness.js';
import { FollowedRecords, type RecordListener } from '../../src/farm/followed-records.js';
import { Owners } from '../../src/farm/owners.js';
import { announceServer, Servers } from '../../src/farm/servers.js';
import type { AnsweredChange, AnsweredRead, FarmHistory } from './farm-checker.js';
import { OwnedLab, REFUSED } from './owned-lab.js';
import { Random } from './random.js';
import { SimulatedEtcd } from './simulated-etcd.js';
import { SimulatedStore, type StoreMistakes } from './simulated-store.js';
import { SimulatedMachine, SimulatedTime } from './simulated-time.js';

/** Mistakes that can be planted. */
export interface FarmMistakes extends StoreMistakes {
  /** Changes are acknowledged before they are stored. */
  readonly isHasty?: boolean;
  /** A lab that was lost stores by the next claim of the same server. */
  readonly isUnbound?: boolean;
  /** Owners answer reads without a look at the deadline. */
  readonly isTrusting?: boolean;
}

interface Request {
  readonly scope: string;
  /** A change has an id; those that a lab refuses have one that says so. */
  readonly id: string | undefined;
}

interface Answer {
  readonly status: 200 | 400 | 503;
  readonly version: number;
  readonly epoch: number;
  readonly server: string;
  readonly isStale: boolean;
}

const SERVERS = ['a', 'b', 'c'];
const SCOPES = ['p', 'q'];
const CLIENTS = 3;
/** Faults and clients end then, and everything heals. */
const WORK_MS = 45_000;
const HEALED_MS = 30_000;
const CLIENT_MS = 15_000;
const FORWARD_MS = 5000;
const FAULTS = { lost: 0.01, repeated: 0.02, late: 0.03 };
/** Some changes take long before they are stored. */
const LONG_WORK = 0.1;
const LONGEST_WORK_MS = 20_000;

const log = pino({ level: 'silent' });

interface ServerOptions {
  readonly mistakes: FarmMistakes;
  readonly random: Random;
}

/** One life of a server. */
class FarmServer implements RecordListener {
  readonly machine: SimulatedMachine;
  readonly owners: Owners;
  readonly store: SimulatedStore;
  readonly name: string;
  /** The versions that it was told, since each reading. */
  readonly followed: { scope: string; versions: number[] }[] = [];
  readonly #followed: FollowedRecords;
  readonly #labs = new Map<string, OwnedLab>();
  readonly #mistakes: FarmMistakes;
  #stopped: Promise<void> | undefined;
  isReady = false;

  constructor(etcd: SimulatedEtcd, name: string, { mistakes, random }: ServerOptions) {
    this.name = name;
    this.#mistakes = mistakes;
    const machine = new SimulatedMachine(etcd.time);
    this.machine = machine;
    this.store = new SimulatedStore(etcd, machine, name, mistakes);
    const servers = new Servers();
    const { store: shared } = this;
    const claimOf = (scope: string): Claim | undefined => this.owners.claimOf(scope);
    const records = new FarmRecords({ scopeOf, isHere: (scope) => claimOf(scope) !== undefined });
    const freshness = new Freshness({ store: shared, clock: machine, reached: () => Promise.resolve() });
    const whole = new FarmStore({ shared, local: shared, claimOf, records, freshness });
    const pause = (): Promise<void> =>
      new Promise((resolve) => {
        if (random.chance(LONG_WORK)) machine.after(random.below(LONGEST_WORK_MS), resolve);
        else resolve();
      });
    this.owners = new Owners({
      ...{ store: this.store, own: name, servers, clock: machine, log },
      prefixes: (scope) => [
        ['head', scope],
        ['lab', scope],
      ],
      homeOf: () => undefined,
      isWanted: () => true,
      claimed: (claim, reading) => {
        const store = mistakes.isUnbound === true ? whole : whole.boundTo(claim);
        const lab = new OwnedLab(claim, reading, { store, pause, isHasty: mistakes.isHasty === true });
        this.#labs.set(claim.scope, lab);
      },
      ended: ({ scope }) => {
        this.#labs.delete(scope);
      },
    });
    const listeners = [
      { below: ['server'], listener: servers },
      { below: ['owner'], listener: this.owners },
      { below: ['head'], listener: this },
    ];
    this.#followed = new FollowedRecords({ store: this.store, clock: machine, listeners });
  }

  start(): void {
    this.#start().catch(() =>
      this.machine.after(1000, () => {
        this.start();
      }),
    );
  }

  async #start(): Promise<void> {
    await announceServer(this.store, this.name, { address: this.name, version: '1', life: 'one' });
    await this.#followed.start();
    for (const scope of SCOPES) this.owners.watch(scope);
    this.isReady = true;
  }

  get isStopping(): boolean {
    return this.#stopped !== undefined;
  }

  /** Ends in order. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.isReady = false;
    const record = { address: this.name, version: '1', life: 'one', isLeaving: true };
    await announceServer(this.store, this.name, record).catch(() => undefined);
    await this.owners.close();
    this.#followed.stop();
    await this.store.close();
    this.machine.kill();
  }

  replaced(records: readonly StoredRecord[]): void {
    for (const scope of SCOPES) {
      const record = records.find(({ key }) => key[1] === scope && key[2] === 'version');
      this.followed.push({ scope, versions: [Number(record?.value ?? 0)] });
    }
  }

  changed(changes: readonly Change[]): void {
    const versions = new Map<string, number>();
    for (const change of changes)
      if ('put' in change) versions.set(change.put[1] ?? '', Number(change.value));
    // Several changes may share a commit: the last one is the version then.
    for (const [scope, version] of versions) this.#told(scope)?.push(version);
  }

  known(): { scope: string; version: number }[] {
    return SCOPES.map((scope) => ({ scope, version: this.#told(scope)?.at(-1) ?? 0 }));
  }

  async handle({ scope, id }: Request, forward?: (to: string) => Promise<Answer>): Promise<Answer> {
    const failed: Answer = { status: 503, version: 0, epoch: 0, server: this.name, isStale: false };
    if (!this.isReady) return failed;
    try {
      const found = await this.#find(scope, forward === undefined);
      if (found.at === 'server') return forward === undefined ? failed : await forward(found.address);
      const lab = this.#labs.get(scope);
      if (found.at === 'nobody' || lab?.claim !== found.claim) return failed;
      const isStale = found.staleMs !== undefined;
      const { epoch } = found.claim;
      if (id === undefined) return { ...failed, status: 200, version: lab.version, epoch, isStale };
      if (isStale) return failed;
      const outcome = await lab.change(id);
      if (outcome === 'refused') return { ...failed, status: 400 };
      return { ...failed, status: 200, version: outcome.version, epoch };
    } catch {
      return failed;
    }
  }

  #find(scope: string, wasForwarded: boolean): ReturnType<Owners['find']> {
    const known = this.owners.known(scope);
    if (this.#mistakes.isTrusting === true && known.at === 'here') return Promise.resolve(known);
    return this.owners.find(scope, wasForwarded);
  }

  #told(scope: string): number[] | undefined {
    return this.followed.findLast((followed) => followed.scope === scope)?.versions;
  }
}

export class SimulatedFarm {
  readonly #time = new SimulatedTime();
  readonly #random: Random;
  readonly #etcd: SimulatedEtcd;
  readonly #mistakes: FarmMistakes;
  readonly #servers = new Map<string, FarmServer>();
  readonly #lives: FarmServer[] = [];
  readonly #changes: AnsweredChange[] = [];
  readonly #reads: AnsweredRead[] = [];
  #count = 0;

  constructor(seed: number, mistakes: FarmMistakes = {}) {
    this.#random = new Random(seed);
    this.#mistakes = mistakes;
    this.#etcd = new SimulatedEtcd(this.#time, { random: this.#random, faults: FAULTS });
  }

  /** Lives through clients and faults, heals, and tells what happened. */
  async run(): Promise<FarmHistory> {
    for (const name of SERVERS) this.#begin(name);
    for (let client = 0; client < CLIENTS; client++) this.#time.after(2000, () => void this.#ask(client));
    this.#time.after(3000, () => {
      this.#fault();
    });
    await this.#time.run(WORK_MS);
    for (const name of SERVERS) this.#heal(name);
    await this.#time.run(WORK_MS + HEALED_MS);
    const living = [...this.#servers.values()];
    return {
      changes: this.#changes,
      reads: this.#reads,
      followed: this.#lives.flatMap(({ name, followed }) =>
        followed.map((one) => ({ server: name, ...one })),
      ),
      known: living.flatMap((server) => server.known().map((one) => ({ server: server.name, ...one }))),
      records: this.#etcd.range([['head'], ['lab']]),
    };
  }

  #begin(name: string): void {
    const server = new FarmServer(this.#etcd, name, { mistakes: this.#mistakes, random: this.#random });
    this.#servers.set(name, server);
    this.#lives.push(server);
    server.start();
  }

  /** One request after the other, of one client. */
  async #ask(client: number): Promise<void> {
    if (this.#time.now() > WORK_MS) return;
    const random = this.#random;
    const scope = random.pick(SCOPES);
    const kind = random.chance(0.05) ? REFUSED : 'change';
    const id = random.chance(0.4) ? undefined : `${kind}-${++this.#count}`;
    const begun = this.#time.now();
    const answer = await this.#answer(random.pick(SERVERS), { scope, id });
    this.#note({ client, scope, begun, ended: this.#time.now() }, id, answer);
    this.#time.after(100 + random.below(1500), () => void this.#ask(client));
  }

  #note(answered: Omit<AnsweredRead, 'version'>, id: string | undefined, answer: Answer | undefined): void {
    const { status = 503, version = 0, epoch = 0, server = '', isStale = false } = answer ?? {};
    if (id === undefined) {
      if (status === 200 && !isStale) this.#reads.push({ ...answered, version });
      return;
    }
    const outcome = status === 200 ? 'stored' : status === 400 ? 'refused' : 'unknown';
    this.#changes.push({ ...answered, id, outcome, version, epoch, server });
  }

  /** The answer of a server to a client; undefined when none comes in time. */
  #answer(name: string, request: Request): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      this.#time.after(CLIENT_MS, () => {
        resolve(undefined);
      });
      this.#send(() => {
        const entrance = this.#servers.get(name);
        entrance?.machine.do(() => {
          const forward = (to: string): Promise<Answer> => this.#forward(entrance, to, request);
          void entrance.handle(request, forward).then((answer) => {
            this.#send(() => {
              resolve(answer);
            });
          });
        });
      });
    });
  }

  #forward(from: FarmServer, name: string, request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      from.machine.after(FORWARD_MS, () => {
        reject(new Error('no answer'));
      });
      this.#send(() => {
        const owner = this.#servers.get(name);
        if (owner === undefined || owner.machine.isCut || from.machine.isCut) return;
        owner.machine.do(() => {
          void owner.handle(request).then((answer) => {
            this.#send(() => {
              if (owner.machine.isCut || from.machine.isCut) return;
              from.machine.do(() => {
                resolve(answer);
              });
            });
          });
        });
      });
    });
  }

  #send(arrive: () => void): void {
    const random = this.#random;
    if (!random.chance(FAULTS.lost)) this.#time.after(this.#etcd.delay(random), arrive);
  }

  /** Something happens to one of the servers, and is over some time later. */
  #fault(): void {
    const random = this.#random;
    if (this.#time.now() > WORK_MS) return;
    const name = random.pick(SERVERS);
    const server = this.#servers.get(name);
    const healsAfter = 500 + random.below(15_000);
    const kind = random.pick(['pause', 'kill', 'stop', 'cut', 'compact'] as const);
    if (kind === 'compact') this.#etcd.compact();
    else if (kind === 'pause') server?.machine.pause();
    else if (kind === 'cut' && server !== undefined) server.machine.isCut = true;
    else if (kind === 'kill') server?.machine.kill();
    else if (server?.machine.isDead === false) void server.stop();
    this.#time.after(healsAfter, () => {
      this.#heal(name);
    });
    this.#time.after(1000 + random.below(8000), () => {
      this.#fault();
    });
  }

  #heal(name: string): void {
    const server = this.#servers.get(name);
    if (server === undefined) return;
    server.machine.isCut = false;
    if (server.machine.isPaused) server.machine.goOn();
    if (server.machine.isDead) this.#begin(name);
    else if (server.isStopping) {
      void server.stop().then(() => {
        if (this.#servers.get(name) === server) this.#begin(name);
      });
    }
  }
}
