/** The token by which etcd knows the user of this server. It ends some minutes after its last use, and when a user changes. */
import { EtcdError, type EtcdLogin } from './etcd-access.js';

const AUTHENTICATE = 'auth/authenticate';
/** etcd has no users at all. It may have some later. */
const NOT_ENABLED = 'etcdserver: authentication is not enabled';
/** A refused password is not tried again at once: etcd computes a tenth of a second for each try. */
const REFUSED_MS = 1000;

type Asking = (server: string, path: string, body: string) => Promise<unknown>;

/** Nothing was sent, because etcd has given no token. */
export class NotLoggedIn extends Error {
  override readonly name = 'NotLoggedIn';

  constructor(cause: unknown) {
    super('etcd gives no token', { cause });
  }
}

export class EtcdToken {
  readonly #login: EtcdLogin;
  readonly #ask: Asking;
  #token: Promise<string> | undefined;
  #refused: { readonly error: EtcdError; readonly until: number } | undefined;

  constructor(login: EtcdLogin, ask: Asking) {
    this.#login = login;
    this.#ask = ask;
  }

  /** The present token, or a new one of this server of etcd; empty where etcd has no users. */
  async of(server: string): Promise<string> {
    const { error, until = 0 } = this.#refused ?? {};
    if (error !== undefined && performance.now() < until) throw error;
    const token = (this.#token ??= this.#authenticate(server));
    try {
      return await token;
    } catch (problem) {
      if (this.#token === token) this.#token = undefined;
      if (!(problem instanceof EtcdError)) throw new NotLoggedIn(problem);
      this.#refused = { error: problem, until: performance.now() + REFUSED_MS };
      throw problem;
    }
  }

  /** Another token is got when one is needed. */
  async forget(refused: string): Promise<void> {
    const token = this.#token;
    if (token !== undefined && (await token.catch(() => refused)) === refused && this.#token === token)
      this.#token = undefined;
  }

  async #authenticate(server: string): Promise<string> {
    const password = await this.#login.password();
    try {
      const body = JSON.stringify({ name: this.#login.user, password });
      const { token = '' } = (await this.#ask(server, AUTHENTICATE, body)) as { token?: string };
      return token;
    } catch (error) {
      if (error instanceof EtcdError && error.reason === NOT_ENABLED) return '';
      throw error;
    }
  }
}
