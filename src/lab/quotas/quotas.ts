/**
 * The one place that decides whether somebody may have more of a resource. Each project, each user and the server have a
 * tally, which is kept and never counted anew: a claim is taken before the work that it is for, and given back after it, so
 * that requests at the same time never get more than is allowed together. A user has what the projects have that he owns.
 */
import { refusals } from '../../base/errors/errors.js';
import type { MetricPage } from '../../base/metrics/metric-page.js';
import { keepRecords } from '../../base/store/kept-records.js';
import type { Key, Store } from '../../base/store/store.js';
import { ABOUT_PROJECTS } from '../projects/records.js';
import type { Grants } from '../access/grants.js';
import type { Users } from '../access/users.js';
import {
  RESOURCES,
  type Amounts,
  type DefaultLimits,
  type Limits,
  type Resource,
  type Usage,
} from './resources.js';

interface QuotasOptions {
  readonly store: Pick<Store, 'commit' | 'load' | 'others'>;
  readonly users: Pick<Users, 'get'>;
  readonly grants: Pick<Grants, 'followOwners' | 'ownersOf'>;
  readonly defaults: () => DefaultLimits;
}

/** Call it once or more, when the work is over: what was claimed is given back once. */
export type GiveBack = () => void;

/** The claims of work on resources of a project. Without a project, the resources are the server's only. */
export interface Claims {
  /** Refuses (409, 429, 507) more than the project, one of its owners or the server may have. */
  claim(projectId: string | undefined, wanted: Amounts): GiveBack;
  /** Takes what is there already, however much that is; a negative amount is given back. */
  take(projectId: string | undefined, amounts: Amounts): GiveBack;
  /** The users for whom the resources of a project count. */
  ownersOf(projectId: string): readonly string[];
}

type Scope = 'project' | 'user' | 'server';

/** The bytes of the disk that something takes whose disk is limited. */
export interface DiskShare {
  readonly scope: Scope;
  readonly used: number;
  readonly allowed: number;
}

/** The part of the quotas that whoever measures folders needs. */
export interface DiskQuotas extends Pick<Claims, 'claim'> {
  /** The folder of the project takes so many bytes, however much that is. */
  measured(projectId: string, bytes: number): void;
  /** The project, its owners and the server, as far as their disk is limited. */
  roomOf(projectId: string): readonly DiskShare[];
}
type Tally = Record<Resource, number>;

interface Holder {
  readonly scope: Scope;
  readonly tally: Tally;
  readonly allowed: (resource: Resource) => number;
}

const PROJECT_QUOTAS: Key = ABOUT_PROJECTS.quotas;
const quotaKey = (projectId: string): Key => [...PROJECT_QUOTAS, projectId];
/** Work ends by itself, and disks are full in the words of HTTP; of everything else something has to be stopped or deleted. */
const REFUSALS: Partial<Record<Resource, 'quotaOfWork' | 'quotaOfDisk'>> = {
  uploads: 'quotaOfWork',
  jobs: 'quotaOfWork',
  disk: 'quotaOfDisk',
};
/** The tallies that a scrape looks at before it gives the loop back. */
const TALLIES_A_SLICE = 100;

export class Quotas implements Claims, DiskQuotas {
  readonly #options: QuotasOptions;
  readonly #server: Tally = nothing();
  readonly #users = new Map<string, Tally>();
  readonly #projects = new Map<string, Tally>();
  /** The bytes that folders of projects took when they were measured last. */
  readonly #disks = new Map<string, number>();
  /** The limits that admins have given to projects. */
  readonly #ofProjects = new Map<string, Limits>();

  constructor(options: QuotasOptions) {
    this.#options = options;
    options.grants.followOwners((projectId, before, after) => {
      const has = this.#projects.get(projectId);
      if (has === undefined) return;
      for (const id of before) if (!after.includes(id)) change(this.#users, id, has, -1);
      for (const id of after) if (!before.includes(id)) change(this.#users, id, has, 1);
    });
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, {
      at: PROJECT_QUOTAS,
      takeOver: ([, projectId = ''], value) => {
        if (value === undefined) this.#ofProjects.delete(projectId);
        else this.#ofProjects.set(projectId, value as Limits);
      },
    });
  }

  claim(projectId: string | undefined, wanted: Amounts): GiveBack {
    for (const holder of this.#holdersOf(projectId)) check(holder, wanted);
    return this.take(projectId, wanted);
  }

  take(projectId: string | undefined, amounts: Amounts): GiveBack {
    this.#change(projectId, amounts, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#change(projectId, amounts, -1);
      isHeld = false;
    };
  }

  /** A claim for a user whose project does not exist yet; undefined is nobody. */
  claimFor(userId: string | undefined, wanted: Amounts): GiveBack {
    check(this.#whole, wanted);
    if (userId !== undefined) check(this.#user(userId), wanted);
    const giveBack = this.take(undefined, wanted);
    if (userId !== undefined) change(this.#users, userId, wanted, 1);
    let isHeld = true;
    return () => {
      giveBack();
      if (isHeld && userId !== undefined) change(this.#users, userId, wanted, -1);
      isHeld = false;
    };
  }

  measured(projectId: string, bytes: number): void {
    this.#change(projectId, { disk: bytes - (this.#disks.get(projectId) ?? 0) }, 1);
    if (bytes === 0) this.#disks.delete(projectId);
    else this.#disks.set(projectId, bytes);
  }

  roomOf(projectId: string): readonly DiskShare[] {
    return this.#holdersOf(projectId).flatMap(({ scope, tally, allowed }) => {
      const most = allowed('disk');
      return most === Infinity ? [] : [{ scope, used: tally.disk, allowed: most }];
    });
  }

  ownersOf(projectId: string): readonly string[] {
    return this.#options.grants.ownersOf(projectId);
  }

  /** The limits that an admin has given to a project, in place of those of the settings. */
  limitsOf(projectId: string): Limits {
    return this.#ofProjects.get(projectId) ?? {};
  }

  async setLimits(projectId: string, limits: Limits): Promise<void> {
    await this.#options.store.commit([{ put: quotaKey(projectId), value: limits }]);
    this.#ofProjects.set(projectId, limits);
  }

  /** Forgets the limits of a project that is removed, which the store does with the project. */
  forget(projectId: string): void {
    this.measured(projectId, 0);
    this.#ofProjects.delete(projectId);
  }

  usageOfProject(projectId: string): Usage {
    return usageOf(this.#project(projectId));
  }

  usageOfUser(userId: string): Usage {
    return usageOf(this.#user(userId));
  }

  usageOfServer(): Usage {
    return usageOf(this.#whole);
  }

  *writeMetrics(page: MetricPage): Generator<void> {
    const largest = { server: nothing(), user: nothing(), project: nothing() };
    let count = 0;
    for (const holder of this.#all()) {
      const of = largest[holder.scope];
      for (const resource of RESOURCES)
        of[resource] = Math.max(of[resource], holder.tally[resource] / holder.allowed(resource) || 0);
      if (++count % TALLIES_A_SLICE === 0) yield;
    }
    page.gauge('promised_memory_bytes', 'Memory that the settings of running nodes promise them');
    page.sample(this.#server.memory);
    page.gauge('quota_used_ratio', 'The largest part of a quota that is used, among those of the same sort');
    for (const [scope, of] of Object.entries(largest))
      for (const resource of RESOURCES) page.sample(of[resource], { scope, resource });
  }

  *#all(): Generator<Holder> {
    yield this.#whole;
    for (const id of [...this.#users.keys()]) yield this.#user(id);
    for (const id of [...this.#projects.keys()]) yield this.#project(id);
  }

  get #whole(): Holder {
    const { server } = this.#options.defaults();
    return { scope: 'server', tally: this.#server, allowed: (resource) => server[resource] ?? Infinity };
  }

  #user(id: string): Holder {
    const { users, defaults } = this.#options;
    const user = users.get(id);
    const own = user?.quota ?? {};
    const usual = user === undefined ? {} : defaults().user;
    return {
      scope: 'user',
      tally: this.#users.get(id) ?? nothing(),
      allowed: (resource) => allowedBy(own, usual, resource),
    };
  }

  #project(id: string): Holder {
    const own = this.limitsOf(id);
    const usual = this.#options.defaults().project;
    return {
      scope: 'project',
      tally: this.#projects.get(id) ?? nothing(),
      allowed: (resource) => allowedBy(own, usual, resource),
    };
  }

  #holdersOf(projectId: string | undefined): Holder[] {
    if (projectId === undefined) return [this.#whole];
    const owners = this.#options.grants.ownersOf(projectId).map((id) => this.#user(id));
    return [this.#project(projectId), ...owners, this.#whole];
  }

  #change(projectId: string | undefined, amounts: Amounts, sign: 1 | -1): void {
    add(this.#server, amounts, sign);
    if (projectId === undefined) return;
    for (const id of this.#options.grants.ownersOf(projectId)) change(this.#users, id, amounts, sign);
    change(this.#projects, projectId, amounts, sign);
  }
}

function nothing(): Tally {
  return {
    ...{ nodes: 0, links: 0, running: 0, memory: 0, processors: 0 },
    ...{ captures: 0, uploads: 0, jobs: 0, disk: 0 },
  };
}

function allowedBy(own: Limits, usual: Amounts, resource: Resource): number {
  const given = own[resource];
  return given === undefined ? (usual[resource] ?? Infinity) : (given ?? Infinity);
}

/** Refuses what does not fit. A resource of which nothing is wanted is not looked at. */
function check({ scope, tally, allowed }: Holder, wanted: Amounts): void {
  for (const resource of RESOURCES) {
    const more = wanted[resource] ?? 0;
    const most = allowed(resource);
    if (more > 0 && tally[resource] + more > most)
      throw refusals[REFUSALS[resource] ?? 'quotaReached'](scope, resource, tally[resource], more, most);
  }
}

function usageOf({ tally, allowed }: Holder): Usage {
  const entries = RESOURCES.map((resource) => {
    const most = allowed(resource);
    return [resource, { used: tally[resource], allowed: most === Infinity ? null : most }];
  });
  return Object.fromEntries(entries) as Usage;
}

function add(tally: Tally, amounts: Amounts, sign: 1 | -1): void {
  for (const resource of RESOURCES) tally[resource] += sign * (amounts[resource] ?? 0);
}

/** A tally of nothing is forgotten. */
function change(tallies: Map<string, Tally>, id: string, amounts: Amounts, sign: 1 | -1): void {
  const tally = tallies.get(id) ?? nothing();
  add(tally, amounts, sign);
  if (RESOURCES.every((resource) => tally[resource] === 0)) tallies.delete(id);
  else tallies.set(id, tally);
}
