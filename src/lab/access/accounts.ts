/** The accounts of a server: its users, their groups, tokens and sessions, their grants on projects, and how they sign in. */
import type { Store } from '../../base/store/store.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { Grants } from './grants.js';
import { Groups } from './groups.js';
import type { PasswordTasks } from './password-tasks.js';
import { Passwords } from './passwords.js';
import { Sessions } from './sessions.js';
import { SignIn } from './sign-in.js';
import { Tokens } from './tokens.js';
import { Users } from './users.js';

interface AccountsOptions {
  readonly store: Store;
  readonly threads: TaskRunner<PasswordTasks>;
  /** So many passwords are checked at once. */
  readonly atOnce: number;
  /** The admin of the settings, who is no user of the store. */
  readonly builtIn: { readonly user: string; readonly password: string } | undefined;
  /** The time of day. */
  readonly now: () => number;
}

export class Accounts {
  readonly users: Users;
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly groups: Groups;
  readonly grants: Grants;
  readonly signIn: SignIn;

  constructor({ store, threads, atOnce, builtIn, now }: AccountsOptions) {
    const passwords = new Passwords({ threads, atOnce });
    this.users = new Users({ store, passwords, hasBuiltInAdmin: builtIn !== undefined, now });
    this.tokens = new Tokens({ store, users: this.users, now });
    this.sessions = new Sessions({ store, users: this.users, now });
    this.groups = new Groups({ store, users: this.users, now });
    this.grants = new Grants(store, this.groups);
    const { users, tokens, sessions, grants } = this;
    this.signIn = new SignIn({
      users,
      tokens,
      sessions,
      grants,
      passwords,
      builtIn,
      others: store.others,
      now: () => performance.now(),
    });
  }

  async start(): Promise<void> {
    await Promise.all([this.users.start(), this.tokens.start(), this.groups.start(), this.grants.start()]);
    await this.sessions.start();
  }

  async close(): Promise<void> {
    await Promise.all([this.tokens.close(), this.sessions.close()]);
  }
}
