/** Files of accounts: lines of values between commas, of which the first names the columns. Pure. */
import { randomInt } from 'node:crypto';
import type { z } from 'zod';
import { groupName, userName, userPassword, userRole } from '../lab/access/account-form.js';
import type { NewAccount } from './stopped-accounts.js';

/** Without letters and digits that look alike. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const MADE_LENGTH = 12;
const COLUMNS = ['name', 'password', 'role', 'group'];

/**
 * The accounts of a file, all of them fit; passwords that it does not have are made. Throws an error whose message is for
 * whoever asks.
 */
export function classOf(text: string, path: string): NewAccount[] {
  const [head = '', ...rest] = text.replace(/^\ufeff/, '').split('\n');
  const columns = fieldsOf(head).map((given) => given.trim().toLowerCase());
  const isKnown = columns.every((column) => COLUMNS.includes(column));
  if (!columns.includes('name') || !isKnown || new Set(columns).size < columns.length)
    throw new Error(`${path}:1: the first line names the columns: name, password, role, group`);
  const accounts = new Map<string, NewAccount>();
  for (const [index, line] of rest.entries()) {
    if (line.trim() === '') continue;
    const place = `${path}:${index + 2}`;
    const account = accountOf(place, columns, fieldsOf(line));
    const key = account.name.toLowerCase();
    if (accounts.has(key)) throw new Error(`${place}: ${account.name} is there twice`);
    accounts.set(key, account);
  }
  return [...accounts.values()];
}

function accountOf(place: string, columns: readonly string[], fields: readonly string[]): NewAccount {
  if (fields.length !== columns.length)
    throw new Error(`${place}: ${fields.length} values for ${columns.length} columns`);
  const given = (column: string): string | undefined => {
    const field = fields[columns.indexOf(column)];
    return field === '' ? undefined : field;
  };
  const fitting = <Value>(column: string, schema: z.ZodType<Value>, value: string | undefined): Value => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new Error(`${place}: the ${column} ${parsed.error.issues[0]?.message ?? 'is wrong'}`);
  };
  const password = given('password');
  return {
    name: fitting('name', userName, given('name')?.trim()),
    password: fitting('password', userPassword, password ?? madePassword()),
    isMade: password === undefined,
    role: fitting('role', userRole, given('role')?.trim() ?? 'user'),
    group: fitting('group', groupName.optional(), given('group')?.trim()),
  };
}

/** The values of a line. One with commas stands between quotes, which are doubled inside; no values when a quote is open. */
function fieldsOf(line: string): string[] {
  const fields = [''];
  let isQuoted = false;
  const add = (text: string): void => {
    fields.push((fields.pop() ?? '') + text);
  };
  let before = '';
  for (const letter of line.replace(/\r$/, '')) {
    if (letter === '"') {
      // The second of two quotes inside of quotes is a quote.
      if (!isQuoted && before === '"') add('"');
      isQuoted = !isQuoted;
    } else if (letter === ',' && !isQuoted) fields.push('');
    else add(letter);
    before = letter;
  }
  return isQuoted ? [] : fields;
}

function madePassword(): string {
  return Array.from({ length: MADE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
