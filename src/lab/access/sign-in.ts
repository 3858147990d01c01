/**
 * Finds out whose credentials a header has. Stock clients send HTTP Basic and nothing else, so that carries a name with a
 * password, a name with a token, or the word `token` with a token; a bearer token may come without a name.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OtherServers } from '../../base/store/store.js';
import type { Token, User } from './access-records.js';
import { TOKEN_NAME } from './account-form.js';
import type { Grants } from './grants.js';
import type { Passwords } from './passwords.js';
import { Principal, Unlimited } from './principal.js';
import type { Sessions } from './sessions.js';
import { looksLikeToken, type Tokens } from './tokens.js';
import type { Users } from './users.js';

interface SignInOptions {
  readonly users: Users;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly grants: Grants;
  /** The admin of the settings, who is no user of the store. */
  readonly builtIn: { readonly user: string; readonly password: string } | undefined;
  /** The other servers that change accounts, if there are any. */
  readonly others: OtherServers | undefined;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** A header whose password was right. It counts as long as the record of the user is still this one. */
interface Remembered {
  readonly user: User;
  readonly until: number;
}

/** A name and a password that a client has sent. */
interface Attempt {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/** A caller whom another server of the farm has let in. */
interface Admitted {
  readonly as: string;
  readonly name: string;
  readonly userId?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly sessionId?: string | undefined;
}

type Found = Principal | Unlimited | undefined;

const REMEMBERED_MS = 10 * 60 * 1000;
const MOST_REMEMBERED = 10_000;
const BASIC = /^Basic ([A-Za-z0-9+/]+={0,2})$/;
const BEARER = /^Bearer (\S+)$/;

export class SignIn {
  readonly #options: SignInOptions;
  readonly #builtIn: { readonly digest: Buffer; readonly caller: Unlimited } | undefined;
  /** Nobody outside of this process can tell which header a key is of. */
  readonly #secret = randomBytes(32);
  readonly #remembered = new Map<string, Remembered>();
  /** Checks that are under way: the many requests of a page that opens share one. */
  readonly #checks = new Map<string, Promise<Found>>();
  readonly #everybody = new Unlimited('everybody', undefined, () => this.everybody !== undefined);

  constructor(options: SignInOptions) {
    this.#options = options;
    const { builtIn } = options;
    if (builtIn === undefined) return;
    const header = `Basic ${Buffer.from(`${builtIn.user}:${builtIn.password}`).toString('base64')}`;
    this.#builtIn = { digest: sha256(header), caller: new Unlimited(builtIn.user, undefined, () => true) };
  }

  /** The caller without credentials; undefined when the server has accounts. */
  get everybody(): Unlimited | undefined {
    return this.#builtIn === undefined && this.#options.users.size === 0 ? this.#everybody : undefined;
  }

  /** The caller with this header; undefined when it is wrong. A password that is not remembered takes a while. */
  identify(authorization: string, address: string): Found | Promise<Found> {
    if (this.#builtIn !== undefined && timingSafeEqual(sha256(authorization), this.#builtIn.digest))
      return this.#builtIn.caller;
    if (this.#options.users.size === 0 && this.#options.others === undefined) return undefined;
    const [, bearer] = BEARER.exec(authorization) ?? [];
    if (bearer !== undefined) return this.#known(() => this.#ownerOf(bearer, TOKEN_NAME));
    const [, encoded] = BASIC.exec(authorization) ?? [];
    if (encoded === undefined) return undefined;
    const text = Buffer.from(encoded, 'base64').toString();
    const colon = text.indexOf(':');
    if (colon < 0) return undefined;
    const [name, password] = [text.slice(0, colon), text.slice(colon + 1)];
    if (looksLikeToken(password)) return this.#known(() => this.#ownerOf(password, name));
    return this.#userOf(authorization, { name, password, address });
  }

  /** The caller whose browser has this session; undefined when it has ended. One that began on another server takes a moment. */
  withSession(secret: string): Found | Promise<Found> {
    return this.#known(() => this.ofSession(secret));
  }

  /** Takes over what other servers have changed; resolves with the age in milliseconds of what is known, where that is old. */
  catchUp(): Promise<number | undefined> | undefined {
    return this.#options.others?.catchUp();
  }

  /** Refuses (503) a change by somebody of whom this server may know too little, because it hears nothing from the others. */
  checkHeard(caller: { readonly userId?: string | undefined }): void {
    if (caller.userId !== undefined || caller === this.#everybody) this.#options.others?.checkHeard();
  }

  /** The caller whose browser has this session, as far as this server knows; undefined when it has ended. */
  ofSession(secret: string): Found {
    const begun = this.#options.sessions.use(secret);
    if (begun === undefined) return undefined;
    const { session_id: sessionId } = begun.session;
    const counts = (): boolean => this.#options.sessions.endOf(sessionId) !== undefined;
    if (begun.user !== undefined)
      return new Principal(begun.user, this.#options.grants, { sessionId, counts });
    return this.#builtIn && new Unlimited(this.#builtIn.caller.name, sessionId, counts);
  }

  /** The caller whom another server of the farm has let in; undefined when this server does not know that one. */
  ofPass({ as, name, userId = '', tokenId, sessionId }: Admitted): Found {
    const { users, tokens, sessions, grants } = this.#options;
    if (as === 'everybody') return this.everybody;
    if (as === 'server') return new Unlimited(name, undefined, () => true);
    const isBegun = (): boolean => sessionId === undefined || sessions.endOf(sessionId) !== undefined;
    if (!isBegun()) return undefined;
    if (as === 'admin') return this.#builtIn && new Unlimited(name, sessionId, isBegun);
    const user = users.get(userId);
    if (user === undefined) return undefined;
    if (tokenId !== undefined) {
      const token = tokens.get(tokenId);
      return token?.user_id === userId ? this.#ofToken(user, token) : undefined;
    }
    if (sessionId === undefined) return this.#principalOf(user);
    return new Principal(user, grants, { sessionId, counts: isBegun });
  }

  #ownerOf(secret: string, name: string): Found {
    const token = this.#options.tokens.use(secret);
    const user = token === undefined ? undefined : this.#options.users.get(token.user_id);
    if (user === undefined) return undefined;
    const isNamed = name === TOKEN_NAME || this.#options.users.named(name) === user;
    return token === undefined || !isNamed ? undefined : this.#ofToken(user, token);
  }

  #ofToken(user: User, token: Token): Principal {
    const counts = (): boolean =>
      this.#options.tokens.counts(token) && this.#options.users.get(user.user_id)?.role === user.role;
    return new Principal(user, this.#options.grants, { token, counts });
  }

  /** Looks again for somebody whom it does not find, when it knows what others have changed. */
  #known(find: () => Found): Found | Promise<Found> {
    const found = find();
    const { others } = this.#options;
    return found !== undefined || others === undefined ? found : others.catchUp().then(find);
  }

  #userOf(authorization: string, attempt: Attempt): Found | Promise<Found> {
    const key = createHmac('sha256', this.#secret).update(authorization).digest('base64');
    const known = this.#remembered.get(key);
    if (known !== undefined && known.until > this.#options.now() && this.#isCurrent(known.user))
      return this.#principalOf(known.user);
    const underWay = this.#checks.get(key);
    if (underWay !== undefined) return underWay;
    const check = this.#check(key, attempt).finally(() => {
      this.#checks.delete(key);
    });
    this.#checks.set(key, check);
    return check;
  }

  async #check(key: string, { name, password, address }: Attempt): Promise<Found> {
    await this.#options.others?.catchUp();
    const user = this.#options.users.named(name);
    const isRight = await this.#options.passwords.check(password, user?.password ?? null, address);
    if (!isRight || user === undefined || !this.#isCurrent(user)) return undefined;
    this.#remembered.delete(key);
    this.#remembered.set(key, { user, until: this.#options.now() + REMEMBERED_MS });
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return this.#principalOf(user);
  }

  /** The user, whose password was right. */
  #principalOf(user: User): Principal {
    const counts = (): boolean => {
      const now = this.#options.users.get(user.user_id);
      return now?.role === user.role && now.password === user.password;
    };
    return new Principal(user, this.#options.grants, { counts });
  }

  /** A user who has been changed signs in again, because the change may be the password. */
  #isCurrent(user: User): boolean {
    return this.#options.users.get(user.user_id) === user;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
