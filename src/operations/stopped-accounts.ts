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
import { Users } from '../lab/access/users.js';
import type { AuditEntry } from '../lab/audit/audit-entry.js';
import { AuditNotes } from '../lab/audit/audit-notes.js';

const LONGEST_NAME = 64;

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
  await withUsers(state, entryOf('add', name), (users) => users.create(wish));
}

/** Gives a user another password. Throws an error whose message is for whoever asks. */
export async function resetUser(state: string, name: string, given: string): Promise<void> {
  const password = fitting('password', userPassword, given);
  if (!existsSync(state)) throw new Error(`no server has kept its state in ${state}`);
  await withUsers(state, entryOf('reset', name), async (users) => {
    const user = users.named(name);
    if (user === undefined) throw new Error(`there is no user ${name}`);
    await users.update(user.user_id, { password });
  });
}

/** The entry goes along with the first commit, and the next server writes its line. */
async function withUsers(
  state: string,
  entry: AuditEntry,
  use: (users: Users) => Promise<unknown>,
): Promise<void> {
  hold(state);
  const store = new StateThread(state);
  const notes = new AuditNotes({ commit: (changes) => store.commit(changes) });
  store.accompany(notes);
  notes.add(entry);
  const worker = new URL('../../workers/password-worker.js', import.meta.url);
  const threads = new TaskPool<PasswordTasks>({ worker, threads: 1, queueLimit: 1 });
  try {
    await store.open();
    const passwords = new Passwords({ threads, atOnce: 1 });
    const users = new Users({ store, passwords, hasBuiltInAdmin: false, now: () => Date.now() });
    await users.start();
    await use(users);
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
