/** Makes the accounts of a class on a server that runs. Accounts that are there already are left as they are. */
import { z } from 'zod';
import type { NewAccount } from '../operations/stopped-accounts.js';
import { CommandError } from './command-error.js';
import type { Server } from './server.js';

const USERS = z.array(z.object({ name: z.string() }));
const GROUPS = z.array(z.object({ name: z.string(), members: z.array(z.string()) }));

/** Returns the accounts that were made. */
export async function addClassTo(server: Server, accounts: readonly NewAccount[]): Promise<NewAccount[]> {
  const known = await listOf(USERS, server, '/v2/users');
  const missing = accounts.filter(({ name }) => !known.some((user) => isSame(user.name, name)));
  for (const { name, role, password } of missing)
    await server.json('POST', '/v2/users', { name, role, password });
  const groups = await listOf(GROUPS, server, '/v2/groups');
  for (const group of new Set(accounts.flatMap(({ group: named }) => named ?? []))) {
    const members = accounts.filter((account) => account.group === group).map(({ name }) => name);
    const found = groups.find(({ name }) => isSame(name, group));
    if (found === undefined) await server.json('POST', '/v2/groups', { name: group, members });
    else
      await server.json('PUT', `/v2/groups/${encodeURIComponent(group)}`, {
        members: [...found.members, ...members],
      });
  }
  return missing;
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

async function listOf<Item>(schema: z.ZodType<Item[]>, server: Server, path: string): Promise<Item[]> {
  const { data } = schema.safeParse(await server.json('GET', path));
  if (data === undefined)
    throw new CommandError(`${server.origin} does not answer as a Wirefarm server does`);
  return data;
}
