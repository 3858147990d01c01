/**
 * Sessions of browsers: 32 random octets, of which the store has the digest. A session ends twelve hours after its last use,
 * and with the record of its user as that was when it began: whoever changes a password ends the sessions.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import type { Change, Store } from '../../base/store/store.js';
import { Lane } from '../projects/lane.js';
import {
  SESSIONS,
  SESSION_USES,
  sessionKey,
  sessionUseKey,
  type Session,
  type User,
} from './access-records.js';
import { Uses } from './uses.js';
import type { Users } from './users.js';

interface SessionsOptions {
  readonly store: Store;
  readonly users: Users;
  /** The time of day. */
  readonly now: () => number;
}

/** A session, and the record of its user; none for the admin of the settings, whose sessions end with the server. */
interface Begun {
  readonly session: Session;
  readonly user: User | undefined;
}

const IDLE_MS = 12 * 3600 * 1000;
const MOST_OF_ONE = 20;
const MOST = 10_000;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #lane: Lane;
  readonly #uses: Uses;
  readonly #begun = new Map<string, Begun>();
  readonly #byDigest = new Map<string, Begun>();

  constructor(options: SessionsOptions) {
    const { store, users } = options;
    this.#options = options;
    this.#lane = new Lane(store);
    this.#uses = new Uses({ store, isOwner: (id) => users.get(id) !== undefined, at: SESSION_USES });
  }

  /** Removes those that count no more: a user may have been changed while no server ran. */
  async start(): Promise<void> {
    const { store, users } = this.#options;
    await this.#uses.start();
    const gone: Change[] = [];
    for (const { value } of await store.load(SESSIONS)) {
      const session = value as Session;
      const user = users.get(session.user_id);
      const begun = { session, user };
      if (user !== undefined && digestOfUser(user) === session.user_digest && !this.#hasExpired(begun)) {
        this.#put(begun);
      } else gone.push(...removalOf(session));
    }
    // Where that is refused, they are looked at again at the next start.
    if (gone.length > 0) await store.commit(gone).catch(() => undefined);
  }

  /**
   * Begins a session of a user, or of the admin of the settings. Returns its secret, which nobody can read again. The ones
   * that were used longest ago end when there are too many.
   */
  begin(user: User | undefined): Promise<{ readonly id: string; readonly secret: string }> {
    return this.#lane.exclusively(async () => {
      const { store, users, now } = this.#options;
      // The user may have been changed since the password was checked.
      if (user !== undefined && users.get(user.user_id) !== user) throw refusals.unauthorized();
      const secret = randomBytes(32).toString('base64url');
      const session: Session = {
        session_id: randomUUID(),
        user_id: user?.user_id ?? '',
        digest: digestOf(secret),
        user_digest: user === undefined ? '' : digestOfUser(user),
        created_at: new Date(now()).toISOString(),
      };
      const ended = this.#tooMany(session.user_id);
      const added = user === undefined ? [] : [{ put: sessionKey(session), value: session }];
      const changes = [...ended.flatMap(removalOf), ...added];
      if (changes.length > 0) await store.commit(changes);
      for (const old of ended) this.#drop(old);
      this.#put({ session, user });
      this.#uses.note(session.user_id, session.session_id, now());
      return { id: session.session_id, secret };
    });
  }

  /** The session with this secret, which is used now; undefined when there is none, or none any more. */
  use(secret: string): Begun | undefined {
    const begun = this.#byDigest.get(digestOf(secret));
    if (begun === undefined || !this.#counts(begun)) return undefined;
    const { user_id: userId, session_id: id } = begun.session;
    this.#uses.note(userId, id, this.#options.now());
    return begun;
  }

  /** When the session ends if it is not used before; undefined for one that has ended. */
  endOf(id: string): number | undefined {
    const begun = this.#begun.get(id);
    return begun !== undefined && this.#counts(begun) ? this.#lastUse(begun) + IDLE_MS : undefined;
  }

  /** It ends here first: one that cannot be removed from the store is of no use to anybody until the next start. */
  end(id: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      const begun = this.#begun.get(id);
      if (begun === undefined) throw refusals.sessionEnded();
      this.#drop(begun.session);
      if (begun.user !== undefined) await this.#options.store.commit(removalOf(begun.session));
    });
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }

  /** The sessions that make room for one more of the user, and all that have ended anyway. */
  #tooMany(userId: string): Session[] {
    const all = [...this.#begun.values()].sort((a, b) => this.#lastUse(b) - this.#lastUse(a));
    const counting = all.filter((begun) => this.#counts(begun));
    const ofUser = counting.filter(({ session }) => session.user_id === userId);
    const left = new Set(counting.slice(0, MOST - 1));
    for (const begun of ofUser.slice(MOST_OF_ONE - 1)) left.delete(begun);
    return all.filter((begun) => !left.has(begun)).map(({ session }) => session);
  }

  #counts(begun: Begun): boolean {
    const { user } = begun;
    const isOfRecord = user === undefined || this.#options.users.get(user.user_id) === user;
    return isOfRecord && !this.#hasExpired(begun);
  }

  #hasExpired(begun: Begun): boolean {
    return this.#lastUse(begun) + IDLE_MS <= this.#options.now();
  }

  #lastUse({ session }: Begun): number {
    return this.#uses.last(session.session_id) ?? Date.parse(session.created_at);
  }

  #put(begun: Begun): void {
    this.#begun.set(begun.session.session_id, begun);
    this.#byDigest.set(begun.session.digest, begun);
  }

  #drop({ session_id: id, digest }: Session): void {
    this.#begun.delete(id);
    this.#byDigest.delete(digest);
    this.#uses.forget(id);
  }
}

function removalOf(session: Session): Change[] {
  return [{ remove: sessionKey(session) }, { remove: sessionUseKey(session) }];
}

function digestOfUser(user: User): string {
  return digestOf(JSON.stringify(user));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
