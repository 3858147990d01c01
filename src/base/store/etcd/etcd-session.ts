/**
 * The life of a server in etcd: a lease, which is kept alive. When it is lost, all that hangs on it is, and a new one begins.
 * Only etcd knows that: while it is silent nobody else can have what this server has, unless this is the server that is cut
 * off. So then the lease is in doubt, for as long as that lasts, and not lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { EtcdError } from './etcd-access.js';
import type { EtcdClient } from './etcd-client.js';

const LEASE_SECONDS = 10;
const KEEP_ALIVE_MS = 3000;
/** So long after a keep-alive that was answered was sent, others may soon have what this server has. */
const FRESH_MS = (LEASE_SECONDS - 3) * 1000;
const PAUSE_MS = 500;
const LEASE_UNKNOWN = 5;

/** One lease. */
export class Life {
  readonly #lost = new AbortController();
  #sentAt: number;

  constructor(
    readonly lease: string,
    sentAt: number,
  ) {
    this.#sentAt = sentAt;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  isFresh(): boolean {
    return !this.lost.aborted && performance.now() - this.#sentAt < FRESH_MS;
  }

  lives(sentAt: number): void {
    this.#sentAt = sentAt;
  }

  lose(): void {
    this.#lost.abort();
  }
}

interface Announcement {
  readonly value: Uint8Array;
  /** The revision at which it was put. */
  modified: number;
}

export class EtcdSession {
  readonly #client: EtcdClient;
  readonly #closed = new AbortController();
  readonly #announcements = new Map<string, Announcement>();
  #life: Promise<Life> | undefined;
  #keeping: Promise<void> | undefined;
  #putting: Promise<void> = Promise.resolve();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** The present lease; a new one, when there is none. */
  async life(): Promise<Life> {
    const life = (this.#life ??= this.#begin());
    try {
      return await life;
    } catch (error) {
      if (this.#life === life) this.#life = undefined;
      throw error;
    }
  }

  /** Puts a value that ends with this server, and puts it again after each loss of the lease. */
  async announce(key: string, value: Uint8Array): Promise<void> {
    const life = await this.life();
    const known = this.#announcements.get(key)?.modified ?? 0;
    const announcement = { value, modified: known };
    this.#announcements.set(key, announcement);
    try {
      await this.#inTurn(() => this.#put(key, announcement, life));
    } catch (error) {
      if (this.#announcements.get(key) === announcement) this.#announcements.delete(key);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#keeping;
    const life = await this.#life?.catch(() => undefined);
    if (life === undefined) return;
    life.lose();
    // When etcd cannot be reached, the lease ends by itself.
    await this.#client.revoke(life.lease).catch(() => undefined);
  }

  async #begin(): Promise<Life> {
    const sentAt = performance.now();
    const life = new Life(await this.#client.grant(LEASE_SECONDS), sentAt);
    this.#keeping ??= this.#keep();
    return life;
  }

  /** Keeps one lease after the other alive. */
  async #keep(): Promise<void> {
    const { signal } = this.#closed;
    const pause = (ms: number): Promise<void> =>
      sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
    const isClosed = (): boolean => signal.aborted;
    let announced: Life | undefined;
    while (!isClosed()) {
      try {
        const life = await this.life();
        if (announced !== undefined && announced !== life) await this.#announceAgain(announced, life);
        announced = life;
        await pause(KEEP_ALIVE_MS);
        while (!isClosed() && !(await this.#isSettled(life))) await pause(PAUSE_MS);
      } catch {
        await pause(PAUSE_MS);
      }
    }
  }

  /** Asks whether the lease lives. False when that is not known. */
  async #isSettled(life: Life): Promise<boolean> {
    const sentAt = performance.now();
    try {
      if (await this.#client.keepAlive(life.lease)) life.lives(sentAt);
      else this.#lose(life);
    } catch {
      // Nobody knows: it is asked again.
      return life.lost.aborted;
    }
    return true;
  }

  /** Throws the error, unless it says that the lease is not there any more: a new one begins then. */
  ended(life: Life, error: unknown): void {
    if (!(error instanceof EtcdError && error.code === LEASE_UNKNOWN)) throw error;
    this.#lose(life);
  }

  #lose(life: Life): void {
    if (life.lost.aborted) return;
    this.#life = undefined;
    life.lose();
  }

  async #announceAgain(before: Life, life: Life): Promise<void> {
    // Others need not wait until it ends by itself.
    await this.#client.revoke(before.lease).catch(() => undefined);
    for (const [key, announcement] of this.#announcements) {
      await this.#inTurn(() => this.#put(key, announcement, life));
    }
  }

  #inTurn(put: () => Promise<void>): Promise<void> {
    const done = this.#putting.then(put);
    this.#putting = done.catch(() => undefined);
    return done;
  }

  /** Puts it over whatever is there; one that was delayed on its way changes nothing any more. */
  async #put(key: string, announcement: Announcement, life: Life): Promise<void> {
    while (this.#announcements.get(key) === announcement) {
      const { modified, value } = announcement;
      try {
        const answer = await this.#client.transaction(
          [{ key, modified }],
          [{ put: key, value, lease: life.lease }],
          [{ range: { from: key } }],
        );
        if (answer.succeeded) {
          announcement.modified = answer.revision;
          return;
        }
        announcement.modified = answer.ranges[0]?.records[0]?.modified ?? 0;
      } catch (error) {
        if (life.lost.aborted) return;
        this.ended(life, error);
        return;
      }
    }
  }
}
