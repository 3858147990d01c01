/** An administrator renames the folder of an open project while clients write to it. */
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, type Reply } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { startServer } from '../../support/server-process.js';

const WRITERS = 4;
const BEFORE = 20;
const AFTER = 20;

void t.test('the folder of an open project is renamed', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const made = await client.expect(201, 'POST', '/v2/projects', { name: 'moving', auto_close: false });
  const folder = String(made['path']);
  const path = `/v2/projects/${String(made['project_id'])}`;
  const nodes = new Set<string>();
  const files = new Map<string, string>();
  const state = { isRenamed: false, written: 0, after: 0 };
  const failures: Pick<Reply, 'status' | 'text'>[] = [];

  const note = ({ status, text }: Reply): boolean => {
    if (status >= 300) failures.push({ status, text });
    if (state.isRenamed) state.after++;
    else state.written++;
    return status < 300 && !state.isRenamed;
  };
  const write = async (writer: number): Promise<void> => {
    for (let round = 0; state.after < AFTER * WRITERS; round++) {
      const name = `n-${writer}-${round}`;
      const content = `content ${writer} ${round}`;
      const node = { name, node_type: 'ethernet_hub', compute_id: 'local' };
      if (note(await client.post(`${path}/nodes`, node))) nodes.add(name);
      if (note(await client.request('POST', `${path}/files/${name}`, content))) files.set(name, content);
    }
  };
  const writing = Array.from({ length: WRITERS }, (_, writer) => write(writer));
  await eventually('much is written', () => state.written >= BEFORE * WRITERS || undefined);
  // An answer that comes later may be of a file that was put into the folder before.
  state.isRenamed = true;
  renameSync(folder, `${folder}.moved`);
  await Promise.all(writing);
  t.comment(
    `failures: ${[...new Set(failures.map(({ status, text }) => `${status} ${text}`))].slice(0, 5).join(' | ')}`,
  );
  for (const failure of failures) {
    t.ok(failure.status !== 500, failure.text);
    t.match(failure.text, /"message": ?"\w/);
  }
  t.equal((await client.get('/v2/version')).status, 200);
  t.equal(await server.stop('SIGKILL'), 'SIGKILL');
  for (const [name, content] of files)
    t.equal(readFileSync(join(`${folder}.moved`, name), 'utf8'), content, name);
  if (existsSync(folder)) renameSync(folder, `${folder}.after`);
  renameSync(`${folder}.moved`, folder);

  const next = await startServer(t, { data: server.data });
  const again = new Client(next.url);
  await again.expect(201, 'POST', `${path}/open`);
  const listed = (await again.get(`${path}/nodes`)).body as { name: string }[];
  const names = new Set(listed.map(({ name }) => name));
  for (const name of nodes) t.ok(names.has(name), name);
  for (const [name, content] of files)
    t.equal((await again.get(`${path}/files/${name}`)).text, content, name);
  t.equal(await next.stop(), 0);
});
