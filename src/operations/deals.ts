/**
 * Deals: each member of a group gets a copy of a lab, which the member owns and the teachers of the group edit. The store
 * knows whose copy is which before the copy is made, so a deal that was cut off goes on where it ended.
 */
import { randomUUID } from 'node:crypto';
import { isRefusal, messageOf, refusals, shortList } from '../base/errors/errors.js';
import { includesGrant, type Grant } from '../base/rights.js';
import { keepRecords } from '../base/store/kept-records.js';
import type { Key, Store } from '../base/store/store.js';
import type { Group, User } from '../lab/access/access-records.js';
import { ABOUT_PROJECTS } from '../lab/projects/records.js';
import type { Grants } from '../lab/access/grants.js';
import type { Groups } from '../lab/access/groups.js';
import type { Project } from '../lab/projects/project.js';
import type { ProjectClaim } from '../lab/projects/project-lifetime.js';
import type { Projects } from '../lab/projects/projects.js';
import type { JobKind } from '../snapshots/job-views.js';
import type { Job, Jobs } from '../snapshots/jobs.js';
import { hasRunning } from '../snapshots/stopped-nodes.js';
import type { ProjectCopies } from '../snapshots/projects/project-copies.js';
import type { Snapshots } from '../snapshots/snapshots.js';

interface DealsOptions {
  readonly store: Pick<Store, 'commit' | 'load' | 'others'>;
  readonly projects: Pick<Projects, 'all'>;
  readonly groups: Pick<Groups, 'get' | 'usersOf'>;
  readonly grants: Pick<Grants, 'claim' | 'deriveFrom' | 'of' | 'set' | 'stored'>;
  readonly jobs: Jobs;
  readonly copies: Pick<ProjectCopies, 'duplicate'>;
  readonly snapshots: Pick<Snapshots, 'create' | 'delete' | 'list' | 'restore'>;
}

/** The copy of a member. */
interface Deal {
  readonly project_id: string;
  /** The snapshot that the copy began as. */
  readonly start: string;
  /** The id of the group; copies of an earlier version have none. */
  readonly group?: string;
}

interface DealtCopy {
  readonly user: User;
  /** Undefined when the member has none, or none any more. */
  readonly project: Project | undefined;
  /** Why the last work on the copy failed, if this server knows. */
  readonly problem: string | undefined;
}

type DealKind = Extract<JobKind, `deal.${string}`>;

const DEALS: Key = ABOUT_PROJECTS.deals;
const dealsOf = (labId: string): Key => [...DEALS, labId];
const dealKey = (labId: string, userId: string): Key => [...dealsOf(labId), userId];
const START = 'As dealt';

export class Deals {
  readonly #options: DealsOptions;
  /** By lab, and then by member. */
  readonly #deals = new Map<string, Map<string, Deal>>();
  /** By copy: the lab and the member. */
  readonly #copies = new Map<string, { readonly labId: string; readonly userId: string }>();
  readonly #problems = new WeakMap<Project, Map<string, string>>();

  constructor(options: DealsOptions) {
    this.#options = options;
    options.grants.deriveFrom((projectId, userId) => this.#grantOn(projectId, userId));
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, {
      at: DEALS,
      takeOver: ([, labId = '', userId = ''], value) => {
        if (value === undefined) this.#drop(labId, userId);
        else this.#put(labId, userId, value as Deal);
      },
    });
  }

  /** The members of the group with their copies of the lab. */
  list(lab: Project, { members }: Group): DealtCopy[] {
    return this.#options.groups.usersOf(members).map((user) => ({
      user,
      project: this.#copyOf(lab, user),
      problem: this.#problems.get(lab)?.get(user.user_id),
    }));
  }

  /** The labs of which members of the group have copies, and how many have one. */
  labsOf({ members }: Group): { readonly lab: Project; readonly copies: number }[] {
    const { groups, projects } = this.#options;
    const users = groups.usersOf(members);
    return [...this.#deals.keys()].flatMap((id) => {
      const lab = projects.all.get(id);
      if (lab === undefined) return [];
      const copies = users.filter((user) => this.#copyOf(lab, user) !== undefined).length;
      return copies === 0 ? [] : [{ lab, copies }];
    });
  }

  /** Begins to give a copy to each member who has none; the others are left alone. Returns the id of the job. */
  deal(lab: Project, group: Group): string {
    return this.#begin(lab, group, 'deal.copy', async (job) => {
      const { members } = group;
      const missing = this.list(lab, group).filter(({ project }) => project === undefined);
      job.progress.expect(members.length);
      job.progress.advance(members.length - missing.length);
      const start = missing.length > 0 ? await this.#startOf(lab) : '';
      return this.#each(lab, job, missing, async ({ user }) => {
        await this.#copy(lab, user, start, group);
      });
    });
  }

  /** Begins to make a snapshot of each copy. */
  collect(lab: Project, group: Group, name: string): string {
    return this.#begin(lab, group, 'deal.collect', (job) =>
      this.#onCopies(lab, group, job, async (copy) => {
        const { snapshots } = this.#options;
        if ((await snapshots.list(copy)).some((snapshot) => snapshot.name === name)) return;
        await snapshots.create(copy, name, undefined, hasRunning(copy) ? { isLong: true } : undefined);
      }),
    );
  }

  /** Begins to make each copy, or those of some members, what it was when it was dealt. */
  reset(lab: Project, group: Group, names: readonly string[] | undefined): string {
    const wanted = names?.map((name) => name.toLowerCase());
    return this.#begin(lab, group, 'deal.reset', (job) =>
      this.#onCopies(
        lab,
        group,
        job,
        async (copy, { user_id: id }) => {
          const { snapshots } = this.#options;
          const start = this.#deals.get(lab.id)?.get(id)?.start;
          const found = (await snapshots.list(copy)).find(({ name }) => name === start);
          if (found === undefined) throw refusals.dealStartGone(start ?? START);
          await snapshots.restore(copy, found.snapshot_id);
        },
        ({ name }) => wanted?.includes(name.toLowerCase()) !== false,
      ),
    );
  }

  /** Forgets the copies of a lab that is gone; they stay. */
  forget(labId: string): void {
    for (const { project_id: id } of this.#deals.get(labId)?.values() ?? []) this.#copies.delete(id);
    this.#deals.delete(labId);
  }

  #begin(lab: Project, group: Group, kind: DealKind, work: (job: Job) => Promise<readonly string[]>): string {
    const { id, result } = this.#options.jobs.coordinate(lab, kind, group.name, async (job) => {
      const failed = await work(job);
      if (failed.length > 0) throw refusals.dealUnfinished(shortList(failed));
    });
    result.catch((error: unknown) => {
      lab.warn(messageOf(error));
    });
    return id;
  }

  #onCopies(
    lab: Project,
    group: Group,
    job: Job,
    work: (copy: Project, user: User) => Promise<void>,
    isWanted: (user: User) => boolean = () => true,
  ): Promise<readonly string[]> {
    const dealt = this.list(lab, group).filter(
      ({ project, user }) => project !== undefined && isWanted(user),
    );
    job.progress.expect(dealt.length);
    return this.#each(lab, job, dealt, async ({ project, user }) => {
      await project?.whileOpen(() => work(project, user));
    });
  }

  /** Does work for each member, also when it fails for some. Returns what failed. */
  async #each(
    lab: Project,
    job: Job,
    rows: readonly DealtCopy[],
    work: (row: DealtCopy) => Promise<void>,
  ): Promise<string[]> {
    const problems = this.#problems.get(lab) ?? new Map<string, string>();
    this.#problems.set(lab, problems);
    const failed: string[] = [];
    for (const row of rows) {
      const { user_id: id, name } = row.user;
      // Throws when the job was cancelled.
      job.progress.advance(0);
      problems.delete(id);
      try {
        await work(row);
      } catch (error) {
        if (isRefusal(error, 'job_cancelled', 'server_draining', 'server_stopping')) throw error;
        problems.set(id, messageOf(error));
        failed.push(`${name}: ${messageOf(error)}`);
      }
      job.progress.advance(1);
    }
    return failed;
  }

  /** Makes the snapshot that the copies begin as; returns its name. */
  async #startOf(lab: Project): Promise<string> {
    const { snapshots } = this.#options;
    await lab.whileOpen(async () => {
      for (const { name, snapshot_id: id } of await snapshots.list(lab))
        if (name === START) await snapshots.delete(lab, id);
      await snapshots.create(lab, START, undefined, undefined);
    });
    return START;
  }

  async #copy(lab: Project, user: User, start: string, group: Group): Promise<void> {
    const { store, copies, grants } = this.#options;
    const { user_id: userId } = user;
    const id = this.#deals.get(lab.id)?.get(userId)?.project_id ?? randomUUID();
    const deal: Deal = { project_id: id, start, group: group.group_id };
    await store.commit([{ put: dealKey(lab.id, userId), value: deal }]);
    this.#put(lab.id, userId, deal);
    const claim: ProjectClaim = {
      userId,
      make: async (projectId) => {
        await grants.claim(projectId, userId);
        for (const teacher of group.teachers)
          if (teacher !== userId) await grants.set(projectId, teacher, 'edit');
      },
    };
    const copy = { id, name: lab.name, path: null, resetsAddresses: false, snapshots: [start], claim };
    await copies.duplicate(lab, copy);
  }

  #copyOf(lab: Project, { user_id: userId }: User): Project | undefined {
    const { projects, grants } = this.#options;
    const id = this.#deals.get(lab.id)?.get(userId)?.project_id;
    if (id === undefined) return undefined;
    // Somebody else may have made a project with the id of a copy that is gone.
    return grants.of(id, userId) === undefined ? undefined : projects.all.get(id);
  }

  /**
   * The grant of a teacher on a copy that was dealt before: of one who teaches its group now, or who may edit the lab
   * itself. The members of the group, who may have a grant on the lab together, get none on the copies of others.
   */
  #grantOn(projectId: string, userId: string): Grant | undefined {
    const copy = this.#copies.get(projectId);
    if (copy === undefined || copy.labId === projectId) return undefined;
    const { grants, groups } = this.#options;
    const groupId = this.#deals.get(copy.labId)?.get(copy.userId)?.group;
    const group = groupId === undefined ? undefined : groups.get(groupId);
    // Somebody else may have made a project with the id of a copy that is gone.
    if (group === undefined || grants.stored(projectId, copy.userId) !== 'owner') return undefined;
    if (group.teachers.includes(userId)) return 'edit';
    if (group.members.includes(userId) || this.#copies.has(copy.labId)) return undefined;
    const onLab = grants.of(copy.labId, userId);
    return onLab !== undefined && includesGrant(onLab, 'edit') ? 'edit' : undefined;
  }

  #drop(labId: string, userId: string): void {
    const ofLab = this.#deals.get(labId);
    const deal = ofLab?.get(userId);
    if (deal !== undefined) this.#copies.delete(deal.project_id);
    ofLab?.delete(userId);
    if (ofLab?.size === 0) this.#deals.delete(labId);
  }

  #put(labId: string, userId: string, deal: Deal): void {
    const ofLab = this.#deals.get(labId) ?? new Map<string, Deal>();
    this.#deals.set(labId, ofLab.set(userId, deal));
    this.#copies.set(deal.project_id, { labId, userId });
  }
}
