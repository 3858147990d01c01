/** After a crash the projects that were open are open again, but none that the server may have died of. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { dropPlan, FAULTS, layPlan, operationsOf } from '../../support/fault-plan.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

const INJECTION = new URL('../../support/fault-injection.js', import.meta.url).href;

interface Controller {
  readonly server: ServerProcess;
  readonly client: Client;
}

async function started(t: Test, data: string, environment: NodeJS.ProcessEnv = {}): Promise<Controller> {
  const server = await startServer(t, { data, environment });
  return { server, client: new Client(server.url) };
}

/** Returns its path. */
async function made(client: Client, name: string, settings: object = {}): Promise<string> {
  const project = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false, ...settings });
  return `/v2/projects/${String(project['project_id'])}`;
}

async function statusOf(client: Client, path: string): Promise<unknown> {
  return (await client.expect(200, 'GET', path))['status'];
}

async function becomesOpen(client: Client, path: string): Promise<void> {
  await eventually('it is open', async () => (await statusOf(client, path)) === 'opened' || undefined);
}

void t.test(
  'projects that were open when the server died are open again, and closed ones are not',
  async (t) => {
    const data = scratchFolder(t);
    const first = await started(t, data);
    const closed = await made(first.client, 'closed');
    const open = await made(first.client, 'open');
    const reopened = await made(first.client, 'reopened');
    const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
    await first.client.expect(201, 'POST', `${open}/nodes`, node);
    for (const path of [closed, reopened]) await first.client.expect(204, 'POST', `${path}/close`);
    await first.client.expect(201, 'POST', `${reopened}/open`);
    await first.server.stop('SIGKILL');

    const second = await started(t, data);
    for (const path of [open, reopened]) await becomesOpen(second.client, path);
    t.match((await second.client.get(`${open}/nodes`)).body, [{ name: 'S1', status: 'started' }]);
    t.equal(await statusOf(second.client, closed), 'closed');
    await second.client.expect(204, 'POST', `${reopened}/close`);
    await second.server.stop('SIGKILL');

    const third = await started(t, data);
    await becomesOpen(third.client, open);
    for (const path of [closed, reopened]) t.equal(await statusOf(third.client, path), 'closed');
    t.equal(await third.server.stop(), 0);

    const fourth = await started(t, data);
    for (const path of [closed, open, reopened]) t.equal(await statusOf(fourth.client, path), 'closed');
    t.equal(await fourth.server.stop(), 0, 'after an orderly end they are closed, as with GNS3');
  },
);

void t.test(
  'a project that was being opened when the server died, and died again, waits for somebody to open it',
  async (t) => {
    const data = scratchFolder(t);
    const faults = scratchFolder(t);
    const environment = { NODE_OPTIONS: `--import=${INJECTION}`, [FAULTS]: faults };
    const first = await started(t, data, environment);
    const deadly = await made(first.client, 'deadly', { auto_open: true });
    const other = await made(first.client, 'other');
    const opening = async (run: string, at: number): Promise<readonly string[]> => {
      await first.client.expect(204, 'POST', `${deadly}/close`);
      layPlan(faults, { run, of: 'changes', at, mode: 'after' });
      await first.client.post(`${deadly}/open`).catch(() => undefined);
      dropPlan(faults);
      return operationsOf(faults, run);
    };
    const operations = await opening('whole', 0);
    const commit = operations.findIndex((operation) => /^fdatasyncSync .*state.journal/.test(operation)) + 1;
    t.ok(commit > 0);
    await opening('deadly', commit);
    t.equal(await first.server.stop('SIGKILL'), 'SIGKILL');

    // It is opened once more, as the server may have died of something else: here it dies at each commit of that start in turn.
    const fault = { run: 'again', of: 'changes', mode: 'after' } as const;
    const startedFrom = async (name: string, at: number): Promise<Controller | undefined> => {
      const copy = join(scratchFolder(t), name);
      cpSync(data, copy, { recursive: true });
      layPlan(faults, { ...fault, at });
      const server = await started(t, copy, environment).catch(() => undefined);
      if (at === 0 && server !== undefined) await becomesOpen(server.client, deadly);
      await server?.server.stop('SIGKILL');
      dropPlan(faults);
      return started(t, copy);
    };
    await (await startedFrom('whole', 0))?.server.stop();
    const commits = operationsOf(faults, 'again').flatMap((operation, index) =>
      /^fdatasyncSync .*state.journal/.test(operation) ? [index + 1] : [],
    );
    let refusals = 0;
    for (const at of commits) {
      const second = await startedFrom(`dead-${at}`, at);
      if (second === undefined) throw new Error('there is no server');
      await becomesOpen(second.client, other);
      if ((await statusOf(second.client, deadly)) === 'closed') {
        refusals++;
        await second.server.logged(/open it by hand/);
        await second.client.expect(201, 'POST', `${deadly}/open`);
      }
      t.equal(await second.server.stop(), 0);
    }
    t.ok(refusals > 0 && refusals < commits.length, `${refusals} of ${commits.length}`);
  },
);
