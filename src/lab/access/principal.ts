/** Callers, and what each may do. */
import type { Right } from '../../base/rights.js';
import type { Token, User } from './access-records.js';
import { rightsOf } from './roles.js';

/** Somebody whom no record limits: the admin of the settings, or everybody on a server without accounts. */
export class Unlimited {
  readonly userId = undefined;
  readonly tokenId = undefined;

  constructor(readonly name: string) {}

  has(): boolean {
    return true;
  }
}

/** A user, who signed in by password or by a token. A token never has more than its owner has now. */
export class Principal {
  readonly #user: User;
  readonly #token: Token | undefined;

  constructor(user: User, token?: Token) {
    this.#user = user;
    this.#token = token;
  }

  get name(): string {
    return this.#user.name;
  }

  get userId(): string {
    return this.#user.user_id;
  }

  get tokenId(): string | undefined {
    return this.#token?.token_id;
  }

  has(right: Right): boolean {
    const rights = this.#token?.rights ?? null;
    return rightsOf(this.#user.role).has(right) && (rights === null || rights.includes(right));
  }
}
