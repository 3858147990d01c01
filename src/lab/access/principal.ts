/** Callers, and what each may do. */
import { grantFor, type Grant, type Right } from '../../base/rights.js';
import type { Token, User } from './access-records.js';
import type { Grants } from './grants.js';
import { grantOnAll, rightsOf } from './roles.js';

/** Somebody whom no record limits: the admin of the settings, or everybody on a server without accounts. */
export class Unlimited {
  readonly userId = undefined;
  readonly tokenId = undefined;
  readonly isForSomeProjects = false;

  constructor(
    readonly name: string,
    readonly sessionId: string | undefined,
    /** Whether these credentials count still. */
    readonly counts: () => boolean,
  ) {}

  has(): boolean {
    return true;
  }

  grantOn(): Grant {
    return 'owner';
  }
}

/** The token or the session that stood for the password. */
interface Standing {
  readonly token?: Token | undefined;
  readonly sessionId?: string;
  /** Whether these credentials count still. */
  readonly counts: () => boolean;
}

/** A user, who signed in by password, by a token or by a session. A token never has more than its owner has now. */
export class Principal {
  readonly sessionId: string | undefined;
  readonly counts: () => boolean;
  readonly #user: User;
  readonly #grants: Grants;
  readonly #token: Token | undefined;

  constructor(user: User, grants: Grants, { token, sessionId, counts }: Standing) {
    this.#user = user;
    this.#grants = grants;
    this.#token = token;
    this.sessionId = sessionId;
    this.counts = counts;
  }

  get name(): string {
    return this.#user.name;
  }

  get userId(): string {
    return this.#user.user_id;
  }

  get isForSomeProjects(): boolean {
    return this.#token?.projects != null;
  }

  get tokenId(): string | undefined {
    return this.#token?.token_id;
  }

  /** A token for some projects changes nothing but those. */
  has(right: Right): boolean {
    const { rights = null, projects = null } = this.#token ?? {};
    const isOfProject = grantFor(right) !== undefined || right.endsWith(':read');
    return (
      rightsOf(this.#user.role).has(right) &&
      (rights === null || rights.includes(right)) &&
      (projects === null || isOfProject)
    );
  }

  /** How far this caller may use a project; undefined when it is not to be seen. */
  grantOn(projectId: string): Grant | undefined {
    const projects = this.#token?.projects ?? null;
    if (projects !== null && !projects.includes(projectId)) return undefined;
    return grantOnAll(this.#user.role) ?? this.#grants.of(projectId, this.#user.user_id);
  }
}
