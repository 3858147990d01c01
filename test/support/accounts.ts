/** Users of a server, and clients that are theirs. */
import { Client } from './client.js';
import type { ServerProcess } from './server-process.js';

export const PASSWORD = 'correct horse';

export function basic(name: string, password = PASSWORD): { Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

export function signedIn({ url }: ServerProcess, name: string, password = PASSWORD): Client {
  return new Client(url, basic(name, password));
}

/** Makes the first user of a server, the admin `root`, and returns a client of it. */
export async function firstAdmin(server: ServerProcess): Promise<Client> {
  const user = { name: 'root', role: 'admin', password: PASSWORD };
  await new Client(server.url).expect(201, 'POST', '/v2/users', user);
  return signedIn(server, 'root');
}

/** Makes a user with the usual password; returns the id and a client of that user. */
export async function addUser(
  admin: Client,
  server: ServerProcess,
  name: string,
  role: string,
): Promise<{ readonly id: string; readonly client: Client }> {
  const made = await admin.expect(201, 'POST', '/v2/users', { name, role, password: PASSWORD });
  return { id: String(made['user_id']), client: signedIn(server, name) };
}
