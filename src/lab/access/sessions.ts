/**
 * Sessions of browsers: 32 random octets, of which the store has the digest. A session ends twelve hours after its last use,
 * and with the record of its user as that was when it began: whoever changes a password ends the sessions.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import { keepRecords } from '../../base/store/kept-records.js';
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

/** The user of such a session in its record. */
const ADMIN = '';

const IDLE_MS = 12 * 3600 * 1000;
const MOST_OF_ONE = 20;
const MOST = 10_000;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #lane: Lane;
  readonly #uses: Uses;
  readonly #begun = new Map<string, Session>();
  readonly #byDigest = new Map<string, Session>();
  /** Records of users are replaced, and never changed. */
  readonly #userDigests = new WeakMap<User, string>();

  constructor(options: SessionsOptions) {
    const { store, users } = options;
    this.#options = options;
    this.#lane = new Lane(store);
    this.#uses = new Uses({ store, isOwner: (id) => users.get(id) !== undefined, at: SESSION_USES });
  }

  /** Removes those that count no more: a user may have been changed while no server ran. */
  async start(): Promise<void> {
    const { store } = this.#options;
    await this.#uses.start();
    await keepRecords(store, {
      at: SESSIONS,
      takeOver: ([, , id = ''], value) => {
        const before = this.#begun.get(id);
        const session = value as Session | undefined;
        if (before?.digest === session?.digest) return;
        if (before !== undefined) this.#drop(before);
        if (session !== undefined) this.#put(session);
      },
    });
    const gone = [...this.#begun.values()].filter((session) => !this.#counts(session));
    for (const session of gone) this.#drop(session);
    // Where that is refused, they are looked at again at the next start.
    if (gone.length > 0) await store.commit(gone.flatMap(removalOf)).catch(() => undefined);
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
        user_id: user?.user_id ?? ADMIN,
        digest: digestOf(secret),
        user_digest: user === undefined ? '' : this.#digestOfUser(user),
        created_at: new Date(now()).toISOString(),
      };
      const ended = this.#tooMany(session.user_id);
      const added = user === undefined ? [] : [{ put: sessionKey(session), value: session }];
      const changes = [...ended.flatMap(removalOf), ...added];
      if (changes.length > 0) await store.commit(changes);
      for (const old of ended) this.#drop(old);
      this.#put(session);
      this.#uses.note(session.user_id, session.session_id, now());
      return { id: session.session_id, secret };
    });
  }

  /** The session with this secret, which is used now; undefined when there is none, or none any more. */
  use(secret: string): Begun | undefined {
    const session = this.#byDigest.get(digestOf(secret));
    if (session === undefined || !this.#counts(session)) return undefined;
    const { user_id: userId, session_id: id } = session;
    this.#uses.note(userId, id, this.#options.now());
    return { session, user: this.#options.users.get(userId) };
  }

  /** When the session ends if it is not used before; undefined for one that has ended. */
  endOf(id: string): number | undefined {
    const session = this.#begun.get(id);
    return session !== undefined && this.#counts(session) ? this.#lastUse(session) + IDLE_MS : undefined;
  }

  /** It ends here first: one that cannot be removed from the store is of no use to anybody until the next start. */
  end(id: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      const session = this.#begun.get(id);
      if (session === undefined) throw refusals.sessionEnded();
      this.#drop(session);
      if (session.user_id !== ADMIN) await this.#options.store.commit(removalOf(session));
    });
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }

  /** The sessions that make room for one more of the user, and all that have ended anyway. */
  #tooMany(userId: string): Session[] {
    const all = [...this.#begun.values()].sort((a, b) => this.#lastUse(b) - this.#lastUse(a));
    const counting = all.filter((session) => this.#counts(session));
    const ofUser = counting.filter((session) => session.user_id === userId);
    const left = new Set(counting.slice(0, MOST - 1));
    for (const session of ofUser.slice(MOST_OF_ONE - 1)) left.delete(session);
    return all.filter((session) => !left.has(session));
  }

  #counts(session: Session): boolean {
    const user = this.#options.users.get(session.user_id);
    const isOfRecord =
      session.user_id === ADMIN || (user !== undefined && this.#digestOfUser(user) === session.user_digest);
    return isOfRecord && this.#lastUse(session) + IDLE_MS > this.#options.now();
  }

  #lastUse(session: Session): number {
    return this.#uses.last(session.session_id) ?? Date.parse(session.created_at);
  }

  #put(session: Session): void {
    this.#begun.set(session.session_id, session);
    this.#byDigest.set(session.digest, session);
  }

  #digestOfUser(user: User): string {
    const digest = this.#userDigests.get(user) ?? digestOf(JSON.stringify(user));
    this.#userDigests.set(user, digest);
    return digest;
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

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
