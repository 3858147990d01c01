/** The caller of a request, and how it is found out. */
import type { Grant, Right } from '../base/rights.js';

export interface Caller {
  readonly name: string;
  /** The user; undefined for a caller whom the store does not have. */
  readonly userId: string | undefined;
  /** The token that stood for the password; undefined when it was the password. */
  readonly tokenId: string | undefined;
  /** The session of the browser; undefined when it was none. */
  readonly sessionId: string | undefined;
  /** Whether a token limits the caller to some projects. */
  readonly isForSomeProjects: boolean;
  /** Whether the credentials count still: nobody has taken them away, and they have not expired. */
  counts(): boolean;
  has(right: Right): boolean;
  /** How far this caller may use a project; undefined when it is not to be seen. */
  grantOn(projectId: string): Grant | undefined;
}

/** The word of one server of a farm to another about a caller whom it has let in. */
export interface Pass {
  /** `anyone` has no credentials, `everybody` needs none, an `admin` is the one of the settings, and a `server` asks for itself. */
  readonly as: 'anyone' | 'everybody' | 'admin' | 'user' | 'server';
  readonly name: string;
  readonly userId?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Finds out who a caller is. */
export interface Identification {
  /** The caller without credentials; undefined when the server has accounts. */
  readonly everybody: Caller | undefined;
  /** The caller with this `Authorization` header, at this address; undefined when it is wrong. A promise while a password is checked. */
  identify(authorization: string, address: string): Caller | undefined | Promise<Caller | undefined>;
  /** The caller whose browser has this session; undefined when it has ended. */
  ofSession(secret: string): Caller | undefined;
  /** The same, also of one that has just begun on another server. */
  withSession(secret: string): Caller | undefined | Promise<Caller | undefined>;
  /**
   * Takes over what other servers have changed: resolves with the age in milliseconds of what is known here, where that is not
   * up to date. Undefined without other servers.
   */
  catchUp(): Promise<number | undefined> | undefined;
  /** Refuses (503) a change by a caller who may have lost the right to it while this server heard nothing from others. */
  checkHeard(caller: Caller): void;
  /** The caller whom another server of the farm has let in; undefined when this server does not know that one. */
  ofPass(pass: Pass): Caller | undefined;
}

/** The caller of a route that asks for no credentials. */
export const ANYONE: Caller = {
  name: 'anyone',
  userId: undefined,
  tokenId: undefined,
  sessionId: undefined,
  isForSomeProjects: false,
  counts: () => true,
  has: () => false,
  grantOn: () => undefined,
};
