/** `wirefarm user`: makes and repairs accounts of a server that does not run, and those of a class on one that runs. */
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { classOf } from '../operations/class-file.js';
import { addClass, addUser, resetUser } from '../operations/stopped-accounts.js';
import { addClassTo } from './class-accounts.js';
import { CommandError, UsageError } from './command-error.js';
import { newPassword } from './new-password.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const OPTIONS = {
  admin: { type: 'boolean' },
  ca: { type: 'string' },
  data: { type: 'string' },
  file: { type: 'string' },
  help: { type: 'boolean' },
  'password-file': { type: 'string' },
  role: { type: 'string' },
  state: { type: 'string' },
  url: { type: 'string' },
} as const;

const HELP = [
  'Usage:',
  '  wirefarm user add NAME [--admin | --role ROLE] --data DIR [--password-file FILE]',
  '      Adds a user to a server that does not run. The first one has to be an admin.',
  '  wirefarm user add --file FILE.csv (--data DIR | --url URL [--ca FILE])',
  '      Adds the users of a file to a server that does not run, or to one that runs. Its first line names the columns:',
  '      name, and if there are password, role and group. Passwords that it does not have are made and printed. Users',
  '      who are there already are left as they are.',
  '  wirefarm user reset NAME --data DIR [--password-file FILE]',
  '      Gives a user another password.',
  '',
  'ROLE is admin, operator, user or auditor; user if none is given.',
  'The password is the first line of FILE, or of the standard input, or it is asked for.',
  'DIR is the data folder of the server (WIREFARM_DATA); --state DIR (WIREFARM_STATE) is its state folder,',
  'when that lies elsewhere.',
  '',
].join('\n');

const DEFAULT_ROLE = 'user';
const LARGEST_FILE = 1024 * 1024;

export async function user(args: readonly string[], environment: Environment): Promise<void> {
  const { values, positionals } = parsed(args);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const [action = '', name = '', ...more] = positionals;
  if (values.file !== undefined) {
    if (action !== 'add' || name !== '' || values.admin === true || values.role !== undefined)
      throw wrong('a file has the names and the roles');
    await addFile(values.file, values, environment);
    return;
  }
  if (!['add', 'reset'].includes(action) || name === '' || more.length > 0)
    throw wrong('say whom to add or to reset');
  const { admin = false, role } = values;
  if ((admin && role !== undefined) || (action === 'reset' && (admin || role !== undefined))) {
    throw wrong(
      action === 'reset' ? 'a reset changes the password only' : 'give --admin or --role, not both',
    );
  }
  const state = stateFolder(values, environment);
  const password = await newPassword(values['password-file']);
  if (action === 'reset') await resetUser(state, name, password);
  else await addUser(state, { name, role: admin ? 'admin' : (role ?? DEFAULT_ROLE) }, password);
  process.stdout.write(action === 'reset' ? `${name} has another password.\n` : `${name} can sign in.\n`);
}

/** Prints the names and passwords that were made, as lines of a file. */
async function addFile(
  file: string,
  values: { readonly url?: string; readonly ca?: string; readonly data?: string; readonly state?: string },
  environment: Environment,
): Promise<void> {
  const accounts = classOf(contentOf(file), file);
  const made =
    values.url === undefined
      ? await addClass(stateFolder(values, environment), accounts)
      : await addClassTo(new Server(serverAddress(values.url, environment, values.ca)), accounts);
  for (const { name, password, isMade } of made) if (isMade) process.stdout.write(`${name},${password}\n`);
  process.stderr.write(
    `${made.length} of ${accounts.length} users were added; the others are there already\n`,
  );
}

function contentOf(file: string): string {
  try {
    if (statSync(file).size > LARGEST_FILE) throw new Error('it is larger than 1 MiB');
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${file} cannot be read: ${reason}`, { cause: error });
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw wrong(line, { cause: error });
  }
}

/** A server finds its state by the same names. */
function stateFolder(
  values: { readonly data?: string; readonly state?: string },
  environment: Environment,
): string {
  const state = values.state ?? environment['WIREFARM_STATE'] ?? '';
  if (state !== '') return resolve(state);
  const data = values.data ?? environment['WIREFARM_DATA'] ?? '';
  if (data === '') throw wrong('say --data');
  return resolve(join(data, 'state'));
}

function wrong(reason: string, options?: ErrorOptions): UsageError {
  return new UsageError(`${reason} (wirefarm user --help)`, options);
}
