/** The end times of labs, as they are stored: beside the projects, whose own records have the keys of GNS3 and no others. */
import { refusals } from '../../base/errors/errors.js';
import { keepRecords } from '../../base/store/kept-records.js';
import type { Key, Store } from '../../base/store/store.js';
import { ABOUT_PROJECTS } from '../../lab/projects/records.js';
import type { Role } from '../../lab/access/roles.js';
import { Lane } from '../../lab/projects/lane.js';
import { furthestRole, NOTICE_SECONDS, type EndRules, type EndTime, type Span } from './end-rules.js';

interface EndTimesOptions {
  readonly store: Store;
  readonly rules: () => EndRules;
  /** The roles of the owners of a project. */
  readonly rolesOf: (projectId: string) => readonly Role[];
  /** The time of day. */
  readonly now: () => number;
}

/** A change; what is absent stays as it is. */
interface WantedEnd {
  readonly endsAt?: number | null | undefined;
  /** Seconds from now to its end, in the place of `endsAt`. */
  readonly seconds?: number | undefined;
  readonly idleAfter?: number | null | undefined;
  readonly snapshot?: boolean | undefined;
}

interface Limits {
  /** Seconds from now to the latest end; undefined is no limit. */
  readonly lasts: number | undefined;
  readonly idle: number | undefined;
}

const END_TIMES: Key = ABOUT_PROJECTS.endTimes;
const keyOf = (projectId: string): Key => [...END_TIMES, projectId];
const UNSET: EndTime = { snapshot: false };

export class EndTimes {
  readonly #options: EndTimesOptions;
  readonly #lane: Lane;
  readonly #ends = new Map<string, EndTime>();

  constructor(options: EndTimesOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, {
      at: END_TIMES,
      takeOver: ([, projectId = ''], value) => {
        if (value === undefined) this.#ends.delete(projectId);
        else this.#ends.set(projectId, value as EndTime);
      },
    });
  }

  /** The end that counts for the project now: its own, or that which is usual for its owners. */
  of(projectId: string): EndTime {
    const own = this.#ends.get(projectId) ?? UNSET;
    const usual = this.#spanOf('idle', projectId)?.usual;
    return own.idleAfter === undefined && usual !== undefined ? { ...own, idleAfter: usual } : own;
  }

  /** The limits of a user of this role; undefined is somebody whom no role limits. */
  limitsOf(role: Role | undefined): Limits {
    const { lasts, idle } = this.#options.rules();
    return role === undefined
      ? { lasts: undefined, idle: undefined }
      : { lasts: lasts[role]?.most, idle: idle[role]?.most };
  }

  /** Refuses (409) an end that has passed, or that lies further away than the role may set. */
  set(projectId: string, wanted: WantedEnd, role: Role | undefined): Promise<void> {
    return this.#lane.exclusively(async () => {
      const { idleAfter, snapshot, seconds } = wanted;
      const now = this.#options.now();
      const endsAt = seconds === undefined ? wanted.endsAt : now + seconds * 1000;
      const { lasts, idle } = this.limitsOf(role);
      if (endsAt != null && endsAt <= now) throw refusals.endPassed();
      if (endsAt !== undefined && lasts !== undefined && (endsAt ?? Infinity) > now + lasts * 1000)
        throw refusals.endTooLate(lasts);
      if (idleAfter !== undefined && idle !== undefined && (idleAfter ?? Infinity) > idle)
        throw refusals.idleTooLong(idle);
      await this.#put(projectId, {
        ...(this.#ends.get(projectId) ?? UNSET),
        ...(endsAt !== undefined && { endsAt, noticeSeconds: noticeOf(endsAt, now), isUsual: false }),
        ...(idleAfter !== undefined && { idleAfter }),
        ...(snapshot !== undefined && { snapshot }),
      });
    });
  }

  /** Gives an open project the usual end, if it has none and is to have one. */
  begin(projectId: string): Promise<void> | undefined {
    const usual = this.#spanOf('lasts', projectId)?.usual;
    if (usual === undefined || this.#ends.get(projectId)?.endsAt !== undefined) return undefined;
    return this.#lane.exclusively(async () => {
      const before = this.#ends.get(projectId) ?? UNSET;
      if (before.endsAt !== undefined) return;
      const now = this.#options.now();
      const endsAt = now + usual * 1000;
      await this.#put(projectId, { ...before, endsAt, noticeSeconds: noticeOf(endsAt, now), isUsual: true });
    });
  }

  /** Call it when the project is closed: an end that has passed, or that nobody has set, does not count for its next opening. */
  closed(projectId: string): Promise<void> | undefined {
    const isOver = (): boolean => {
      const { endsAt, isUsual = false } = this.#ends.get(projectId) ?? UNSET;
      return isUsual || (endsAt ?? Infinity) <= this.#options.now();
    };
    if (!isOver()) return undefined;
    return this.#lane.exclusively(async () => {
      if (!isOver()) return;
      const { idleAfter, snapshot } = this.#ends.get(projectId) ?? UNSET;
      await this.#put(projectId, { snapshot, ...(idleAfter !== undefined && { idleAfter }) });
    });
  }

  /** Forgets the end of a project that is removed, which the store does with the project. */
  forget(projectId: string): void {
    this.#ends.delete(projectId);
  }

  async #put(projectId: string, end: EndTime): Promise<void> {
    await this.#options.store.commit([{ put: keyOf(projectId), value: end }]);
    this.#ends.set(projectId, end);
  }

  #spanOf(which: keyof EndRules, projectId: string): Span | undefined {
    const spans = this.#options.rules()[which];
    // Most servers have no rules, and roles need not be looked for.
    if (Object.keys(spans).length === 0) return undefined;
    const role = furthestRole(this.#options.rolesOf(projectId));
    return role && spans[role];
  }
}

/** An end that is nearer than an hour is warned of as long before as was asked for. */
function noticeOf(endsAt: number | null, now: number): number {
  return endsAt === null ? NOTICE_SECONDS : Math.min(NOTICE_SECONDS, (endsAt - now) / 1000);
}
