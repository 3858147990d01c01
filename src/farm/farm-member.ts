/**
 * A server as a member of a farm: it knows the others, owns projects, and has those of the controller come and go with its
 * claims.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { refusals } from '../base/errors/errors.js';
import {
  FARM_SCOPE,
  type Claim,
  type Reading,
  type SharedStore,
  type Store,
  type StoredRecord,
} from '../base/store/store.js';
import type { ProjectHold, ProjectsElsewhere } from '../lab/projects/elsewhere.js';
import type { Projects } from '../lab/projects/projects.js';
import { sortOut } from '../lab/projects/records.js';
import type { FarmClock } from './farm-clock.js';
import { FarmRecords } from './farm-records.js';
import { KEPT, prefixesOf, scopeOf } from './farm-store.js';
import { FollowedProjects } from './followed-projects.js';
import { FollowedRecords } from './followed-records.js';
import { Freshness } from './freshness.js';
import { ImageCopies, IMAGE_COPY } from './images/image-copies.js';
import { HeldNames } from './held-names.js';
import { HeldRooms } from './held-rooms.js';
import { HeldScopes } from './held-scopes.js';
import type { FollowedGiven } from './placements.js';
import { Owners, type Ownership } from './owners.js';
import { announceServer, numberOfStart, Servers, type ServerRecord } from './servers.js';

interface FarmMemberOptions {
  readonly shared: SharedStore;
  /** The name of this server, which it has again after a restart. */
  readonly id: string;
  readonly version: string;
  readonly clock: FarmClock;
  readonly log: Logger;
  /** The store for what comes with a claim. */
  readonly boundTo: (claim: Claim) => Store;
}

/** This server, as others know it. */
interface OwnPlace {
  readonly id: string;
  readonly address: string;
  readonly life: string;
  readonly start: number;
}

const LIFE_OCTETS = 16;
/** The answer for what no server has, which any of them can give. */
const ANYBODYS = { at: 'here', claim: { isFresh: () => true }, staleMs: undefined } as const;

export class FarmMember {
  readonly #options: FarmMemberOptions;
  /** The records that all servers have in memory. */
  readonly records: FarmRecords;
  readonly freshness: Freshness;
  /** The rights to give out room on hosts. */
  readonly rooms: HeldRooms;
  /** The images that servers have. */
  readonly images = new ImageCopies();
  readonly #owners: Owners;
  readonly #names: HeldNames;
  readonly #servers = new Servers();
  readonly #projects: FollowedProjects;
  readonly #followed: FollowedRecords;
  /** Projects that were claimed, and that the controller does not have yet. */
  readonly #admitting = new Map<string, Promise<void>>();
  /** Projects that are about to be made here. */
  readonly #beginning = new Set<string>();
  #controlled: Pick<Projects, 'admit' | 'dismiss'> | undefined;
  /** The record of this server, once the others know of it. */
  #announced: ServerRecord | undefined;
  #hasJoined = false;
  readonly #life = randomBytes(LIFE_OCTETS).toString('base64url');
  #start = 0;

  constructor(options: FarmMemberOptions) {
    const { shared, id, clock, log } = options;
    this.#options = options;
    this.#projects = new FollowedProjects({
      opened: (project) => {
        this.#owners.watch(project);
      },
    });
    this.#owners = new Owners({
      ...{ store: shared, own: id, servers: this.#servers, clock, log },
      prefixes: prefixesOf,
      homeOf: (scope) => this.#projects.homeOf(scope),
      isWanted: (scope) => scope === FARM_SCOPE || this.#projects.isOpen(scope),
      claimed: (claim, reading) => {
        this.#claimed(claim, reading);
      },
      ended: (claim) => {
        this.#ended(claim);
      },
    });
    this.records = new FarmRecords({ scopeOf, isHere: (scope) => this.#owners.claimOf(scope) !== undefined });
    this.#followed = new FollowedRecords({
      ...{ store: shared, clock },
      listeners: [
        { below: ['server'], listener: this.#servers },
        { below: ['owner'], listener: this.#owners },
        { below: ['head'], listener: this.#projects },
        { below: KEPT, listener: this.records },
        { below: [IMAGE_COPY], listener: this.images },
      ],
    });
    const reached = this.#followed.reached.bind(this.#followed);
    this.freshness = new Freshness({ store: shared, clock, reached });
    const catchUp = this.freshness.catchUp.bind(this.freshness);
    const scopes = new HeldScopes({ store: shared, clock, reached });
    this.#names = new HeldNames({ scopes, catchUp });
    this.rooms = new HeldRooms(scopes, clock);
  }

  /** The projects of the farm, for the controller of this server. */
  get elsewhere(): ProjectsElsewhere {
    return {
      own: this.#options.id,
      listed: this.#projects.listed,
      begin: (projectId) => this.#begin(projectId),
      holdName: (owner, name, check) => this.#names.hold(owner, name, check),
      end: (projectId) => {
        void this.#owners.release(projectId);
      },
    };
  }

  /** The room that the open projects of the farm have given out, as far as this server knows. */
  given(): Iterable<FollowedGiven> {
    return this.#projects.given();
  }

  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  /** The servers that live, by their names. */
  get servers(): ReadonlyMap<string, ServerRecord> {
    return this.#servers.live;
  }

  /** This server; it has an address when it has joined. */
  get place(): OwnPlace {
    const [life, start] = [this.#life, this.#start];
    return { id: this.#options.id, address: this.#announced?.address ?? '', life, start };
  }

  /** The server that answers for a scope, as far as this one knows; nobody, while what it has claimed is on its way here. */
  known(scope: string): Ownership {
    return this.#admitting.has(scope) ? { at: 'nobody' } : this.#owners.known(scope);
  }

  /**
   * Finds the server that answers for a scope. A project that nobody has is claimed, unless there is none: ids that clients
   * make up come to nothing. Refuses (503) before this server has joined.
   */
  async find(scope: string, wasForwarded: boolean): Promise<Ownership | typeof ANYBODYS> {
    if (!this.#hasJoined) throw refusals.ownerMissing();
    if (this.#isUnheardOf(scope)) {
      const records = await this.#options.shared.load(['owner', scope], ['head', scope]);
      if (!records.some(({ key }) => key[0] === 'head')) return ANYBODYS;
      const owner = records.find(({ key }) => key[0] === 'owner');
      if (owner !== undefined && this.#isUnheardOf(scope))
        this.#owners.changed([{ put: owner.key, value: owner.value }]);
    }
    const found = await this.#owners.find(scope, wasForwarded);
    if (found.at !== 'here') return found;
    await this.#admitting.get(scope);
    return this.#owners.claimOf(scope) === undefined ? { at: 'nobody' } : found;
  }

  /** Call it before anything of the farm is read. */
  async look(): Promise<void> {
    this.#start = await numberOfStart(this.#options.shared, this.#options.id);
    this.records.replaced(await this.#options.shared.load(...KEPT.map((first) => [first])));
  }

  /** Makes this server known under its address, with its port where that is 0; from now on it has what it should. */
  async join(
    { port, advertise }: { readonly port: number; readonly advertise: string },
    projects: Pick<Projects, 'admit' | 'dismiss'>,
  ): Promise<void> {
    const url = advertise.replace(/:0$/, `:${port}`);
    const { shared, id, version } = this.#options;
    this.#controlled = projects;
    this.#announced = { address: url, version, life: this.#life };
    await announceServer(shared, id, this.#announced);
    await this.#followed.start();
    this.freshness.start();
    this.#hasJoined = true;
    this.#owners.watch(FARM_SCOPE);
  }

  /** The claim of this server on a scope. */
  claimOf(scope: string): Claim | undefined {
    return this.#owners.claimOf(scope);
  }

  /** Lets others have everything. The projects of the controller have been closed. */
  async leave(): Promise<void> {
    const { shared, id, log } = this.#options;
    this.#controlled = undefined;
    this.freshness.stop();
    this.#followed.stop();
    // Before the claims go: whoever comes after this server in rank need not wait for it.
    if (this.#announced !== undefined)
      await announceServer(shared, id, { ...this.#announced, isLeaving: true }).catch((error: unknown) => {
        log.warn({ err: error }, 'the other servers could not be told that this one leaves');
      });
    await Promise.allSettled(this.#admitting.values());
    await this.#owners.close();
  }

  /** Whether this server has heard of no project of this id. */
  #isUnheardOf(scope: string): boolean {
    if (scope === FARM_SCOPE || this.#owners.claimOf(scope) !== undefined) return false;
    return !this.#projects.listed.has(scope);
  }

  /** Makes a project this server's that is to be made. */
  async #begin(projectId: string): Promise<ProjectHold | undefined> {
    this.#beginning.add(projectId);
    try {
      const found = await this.#owners.find(projectId, true);
      if (found.at !== 'here' || found.staleMs !== undefined) throw refusals.claimLost(projectId);
      const isThere = this.#admitting.has(projectId) || this.#projects.listed.has(projectId);
      return isThere ? undefined : this.#holdOf(found.claim);
    } finally {
      this.#beginning.delete(projectId);
    }
  }

  #claimed(claim: Claim, { records }: Reading): void {
    const { scope } = claim;
    const isKept = ({ key: [first = ''] }: StoredRecord): boolean => KEPT.includes(first);
    this.records.claimed(scope, records.filter(isKept));
    if (scope === FARM_SCOPE || this.#controlled === undefined) return;
    const heads = records.filter((record) => !isKept(record));
    if (this.#beginning.has(scope) && sortOut(heads) === undefined) return;
    const admitting = this.#controlled
      .admit(scope, heads, this.#holdOf(claim))
      .catch((error: unknown) => {
        this.#options.log.error({ err: error, project: scope }, 'a project cannot be taken over');
      })
      .finally(() => {
        if (this.#admitting.get(scope) === admitting) this.#admitting.delete(scope);
      });
    this.#admitting.set(scope, admitting);
  }

  #holdOf(claim: Claim): ProjectHold {
    const isOver = (): boolean => this.#owners.claimOf(claim.scope) !== claim;
    return {
      ...{ store: this.#options.boundTo(claim), epoch: claim.epoch, isOver },
      isFresh: () => claim.isFresh(),
    };
  }

  #ended({ scope }: Claim): void {
    this.records.ended(scope);
    if (scope === FARM_SCOPE) return;
    this.#controlled?.dismiss(scope).catch((error: unknown) => {
      this.#options.log.error({ err: error, project: scope }, 'a project that is lost does not end');
    });
  }
}
