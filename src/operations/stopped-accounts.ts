/**
 * The users of a server that does not run: its first admin is made here, and a password that was forgotten is replaced. The
 * folder of the state is held meanwhile as a server holds it, so that no server starts in between.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { z } from 'zod';
import { FolderHeld, lockFolders } from '../base/disk/folder-lock.js';
import { StateThread } from '../base/store/state-thread.js';
import { TaskPool } from '../base/threads/task-pool.js';
import { userName, userPassword, userRole } from '../lab/access/account-form.js';
import type { PasswordTasks } from '../lab/access/password-tasks.js';
import { Passwords } from '../lab/access/passwords.js';
import type { Role } from '../lab/access/roles.js';
import { Groups } from '../lab/access/groups.js';
import { Users } from '../lab/access/users.js';
import type { AuditEntry } from '../lab/audit/audit-entry.js';
import { AuditNotes } from '../lab/audit/audit-notes.js';

const LONGEST_NAME = 64;

/** An account of a file of accounts. */
export interface NewAccount {
  readonly name: string;
  readonly password: string;
  /** Whether the file had no password. */
  readonly isMade: boolean;
  readonly role: Role;
  /** The group that the user becomes a member of. */
  readonly group: string | undefined;
}

interface StoppedParts {
  readonly users: Users;
  readonly groups: Groups;
  /** Notes a change for the audit before it is made. */
  readonly note: (action: 'add' | 'reset', name: string) => void;
}

/** Adds a user. Throws an error whose message is for whoever asks. */
export async function addUser(
  state: string,
  given: Record<'name' | 'role', string>,
  password: string,
): Promise<void> {
  const name = fitting('name', userName, given.name);
  const role: Role = fitting('role', userRole, given.role);
  const wish = { name, role, password: fitting('password', userPassword, password) };
  if (!existsSync(state)) mkdirSync(state, { recursive: true, mode: 0o700 });
  await withUsers(state, ({ users, note }) => {
    note('add', name);
    return users.create(wish);
  });
}

/**
 * Makes the accounts of a class, and its groups. Accounts that are there already are left as they are, so that it can be
 * done again. Returns the accounts that were made.
 */
export async function addClass(state: string, accounts: readonly NewAccount[]): Promise<NewAccount[]> {
  if (!existsSync(state)) mkdirSync(state, { recursive: true, mode: 0o700 });
  const made: NewAccount[] = [];
  await withUsers(state, async ({ users, groups, note }) => {
    for (const account of accounts) {
      if (users.named(account.name) !== undefined) continue;
      const { name, role, password } = account;
      note('add', name);
      await users.create({ name, role, password });
      made.push(account);
    }
    for (const name of new Set(accounts.flatMap(({ group }) => group ?? []))) {
      const ofGroup = accounts.filter(({ group }) => group === name);
      const joining = ofGroup.flatMap((account) => users.named(account.name)?.user_id ?? []);
      const group = groups.named(name);
      if (group === undefined) await groups.create({ name, members: joining, teachers: [] });
      else
        await groups.update(group.group_id, ({ members }) => ({
          members: [...new Set([...members, ...joining])],
        }));
    }
  });
  return made;
}

/** Gives a user another password. Throws an error whose message is for whoever asks. */
export async function resetUser(state: string, name: string, given: string): Promise<void> {
  const password = fitting('password', userPassword, given);
  if (!existsSync(state)) throw new Error(`no server has kept its state in ${state}`);
  await withUsers(state, async ({ users, note }) => {
    const user = users.named(name);
    if (user === undefined) throw new Error(`there is no user ${name}`);
    note('reset', name);
    await users.update(user.user_id, { password });
  });
}

/** Notes go along with the next commit, and the next server writes their lines. */
async function withUsers(state: string, use: (parts: StoppedParts) => Promise<unknown>): Promise<void> {
  hold(state);
  const store = new StateThread(state);
  const notes = new AuditNotes({ commit: (changes) => store.commit(changes) });
  store.accompany(notes);
  const worker = new URL('../../workers/password-worker.js', import.meta.url);
  const threads = new TaskPool<PasswordTasks>({ worker, threads: 1, queueLimit: 1 });
  try {
    await store.open();
    const passwords = new Passwords({ threads, atOnce: 1 });
    const users = new Users({ store, passwords, hasBuiltInAdmin: false, now: () => Date.now() });
    const groups = new Groups({ store, users, now: () => Date.now() });
    await Promise.all([users.start(), groups.start()]);
    const note: StoppedParts['note'] = (action, name) => {
      notes.add(entryOf(action, name));
    };
    await use({ users, groups, note });
  } finally {
    await store.close();
    await threads.close();
  }
}

function entryOf(action: 'add' | 'reset', name: string): AuditEntry {
  return {
    time: new Date().toISOString(),
    req: `command-${randomBytes(6).toString('hex')}`,
    kind: 'command',
    user: accountName(),
    ...{ user_id: null, token: null, address: null, method: null, body: null },
    route: `wirefarm user ${action}`,
    ids: { name: name.slice(0, LONGEST_NAME) },
  };
}

/** The user of the machine; the number of one who has no name. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? 'unknown');
  }
}

/** Throws when a server runs, or when this user would leave files that the server cannot use. */
function hold(state: string): void {
  const { uid } = statSync(state);
  if (uid !== process.geteuid?.()) {
    throw new Error(`the folder ${state} is of another user of this machine (${uid}): run this as that user`);
  }
  try {
    lockFolders([state]);
  } catch (error) {
    if (!(error instanceof FolderHeld)) throw error;
    throw new Error(`${error.message}: stop that one first, or change its users while it runs (/v2/users)`, {
      cause: error,
    });
  }
}

function fitting<Value>(what: string, schema: z.ZodType<Value>, given: string): Value {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new Error(`the ${what} ${parsed.error.issues[0]?.message ?? 'is wrong'}`);
}
