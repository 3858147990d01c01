/**
 * Tokens: `wf_`, eight characters by which people know it, and 32 random octets. The store has only their digests. When a
 * token was used is written for all together, once in a while.
 */
import { hash, randomBytes } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import { keepRecords } from '../../base/store/kept-records.js';
import type { Store } from '../../base/store/store.js';
import type { Right } from '../../base/rights.js';
import { Lane } from '../projects/lane.js';
import { tokenKey, TOKENS, TOKEN_USES, useKey, type Token } from './access-records.js';
import { Uses } from './uses.js';
import type { Users } from './users.js';

interface TokensOptions {
  readonly store: Store;
  readonly users: Users;
  /** The time of day. */
  readonly now: () => number;
}

interface NewToken {
  readonly name: string;
  readonly rights: readonly Right[] | null;
  readonly projects: readonly string[] | null;
  readonly expires_at: string | null;
}

const FORM = /^wf_[0-9a-f]{8}_[\w-]{43}$/;
const ID_START = 'wf_'.length;
const ID_LENGTH = 8;
const MOST_OF_ONE = 200;
/** Uses that follow each other so fast are one. */
const NOTED_MS = 1000;

export function looksLikeToken(text: string): boolean {
  return FORM.test(text);
}

export class Tokens {
  readonly #options: TokensOptions;
  readonly #lane: Lane;
  readonly #tokens = new Map<string, Token>();
  readonly #uses: Uses;

  constructor(options: TokensOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
    const { store, users } = options;
    this.#uses = new Uses({ store, isOwner: (id) => users.get(id) !== undefined, at: TOKEN_USES });
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, {
      at: TOKENS,
      takeOver: ([, , id = ''], value) => {
        const before = this.#tokens.get(id);
        const token = value as Token | undefined;
        // A token is never changed: whoever holds its record may go on.
        if (before !== undefined && before.digest === token?.digest) return;
        if (before !== undefined) this.#drop(before);
        if (token !== undefined) this.#put(token);
      },
    });
    await this.#uses.start();
  }

  /** The tokens of a user, or of all users, oldest first. */
  list(userId?: string): Token[] {
    return [...this.#tokens.values()]
      .filter((token) => userId === undefined || token.user_id === userId)
      .filter((token) => this.#options.users.get(token.user_id) !== undefined)
      .sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
  }

  find(id: string): Token {
    const token = this.#tokens.get(id);
    if (token === undefined || this.#options.users.get(token.user_id) === undefined)
      throw refusals.tokenUnknown(id);
    return token;
  }

  /** The token with this id; undefined when it is unknown or has expired. */
  get(id: string): Token | undefined {
    const token = this.#tokens.get(id);
    return token !== undefined && this.counts(token) ? token : undefined;
  }

  lastUse({ token_id: id }: Token): string | null {
    const time = this.#uses.last(id);
    return time === undefined ? null : new Date(time).toISOString();
  }

  /** Returns the record and the token itself, which nobody can read again. */
  create(
    userId: string,
    { name, rights, projects, expires_at }: NewToken,
  ): Promise<readonly [Token, string]> {
    return this.#lane.exclusively(async () => {
      const { store, users, now } = this.#options;
      users.find(userId);
      if (this.list(userId).length >= MOST_OF_ONE) throw refusals.tooManyTokens(MOST_OF_ONE);
      if (expires_at !== null && Date.parse(expires_at) <= now()) throw refusals.tokenExpiry();
      const id = this.#freeId();
      const secret = `wf_${id}_${randomBytes(32).toString('base64url')}`;
      const created = new Date(now()).toISOString();
      const facts = {
        token_id: id,
        user_id: userId,
        name,
        rights,
        projects,
        expires_at,
        created_at: created,
      };
      const token: Token = { ...facts, digest: digestOf(secret) };
      await store.commit([{ put: tokenKey(token), value: token }]);
      this.#put(token);
      return [token, secret] as const;
    });
  }

  remove(id: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      const token = this.find(id);
      await this.#options.store.commit([{ remove: tokenKey(token) }, { remove: useKey(token) }]);
      this.#drop(token);
    });
  }

  /** The token of this text, which is noted as used now; undefined when it is unknown or has expired. */
  use(secret: string): Token | undefined {
    const token = this.#tokens.get(idIn(secret));
    // The time that it takes to compare digests helps nobody: no text can be found for a digest that is wanted.
    if (token?.digest !== digestOf(secret) || this.#hasExpired(token)) return undefined;
    this.#note(token);
    return token;
  }

  /** Whether the token is there still, and has not expired. */
  counts(token: Token): boolean {
    return this.#tokens.get(token.token_id) === token && !this.#hasExpired(token);
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }

  #note({ user_id: userId, token_id: id }: Token): void {
    const now = this.#options.now();
    if (Math.abs(now - (this.#uses.last(id) ?? -Infinity)) >= NOTED_MS) this.#uses.note(userId, id, now);
  }

  #hasExpired({ expires_at: expiry }: Token): boolean {
    return expiry !== null && Date.parse(expiry) <= this.#options.now();
  }

  #freeId(): string {
    for (;;) {
      const id = randomBytes(4).toString('hex');
      if (!this.#tokens.has(id)) return id;
    }
  }

  #put(token: Token): void {
    this.#tokens.set(token.token_id, token);
  }

  #drop({ token_id: id }: Token): void {
    this.#tokens.delete(id);
    this.#uses.forget(id);
  }
}

/** The characters by which people know the token of this text. */
function idIn(secret: string): string {
  return secret.slice(ID_START, ID_START + ID_LENGTH);
}

/** It takes no longer than to find the secret itself in a table, so none is kept. */
function digestOf(secret: string): string {
  return hash('sha256', secret);
}
