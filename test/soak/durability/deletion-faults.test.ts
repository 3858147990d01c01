/** The server is killed at each operation that the deletion of a project takes: the project is whole, or gone. */
import t from 'tap';
import { asideNames, projectFolders } from '../../support/aside-folders.js';
import { Client } from '../../support/client.js';
import { dropPlan, FAULTS, layPlan, operationsOf } from '../../support/fault-plan.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';

const INJECTION = new URL('../../support/fault-injection.js', import.meta.url).href;
const MOST_OPERATIONS = 40;

void t.test('killed while a project is deleted', async (t) => {
  const data = scratchFolder(t);
  const faults = scratchFolder(t);
  const environment = { NODE_OPTIONS: `--import=${INJECTION}`, [FAULTS]: faults };
  let server = await startServer(t, { data, environment });
  let client = new Client(server.url);
  const outcomes = { whole: 0, gone: 0 };
  let isDone = false;
  for (let at = 1; at <= MOST_OPERATIONS && !isDone; at++) {
    for (const mode of ['before', 'after'] as const) {
      const name = `lab-${at}-${mode}`;
      const made = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
      const id = String(made['project_id']);
      const path = `/v2/projects/${id}`;
      const node = { name: 'S', node_type: 'ethernet_switch', compute_id: 'local' };
      await client.expect(201, 'POST', `${path}/nodes`, node);
      await client.request('POST', `${path}/files/kept.txt`, 'content');
      const run = `${mode}-${at}`;
      layPlan(faults, { run, of: 'changes', at, mode });
      const reply = await client.delete(path).catch(() => undefined);
      dropPlan(faults);
      isDone = operationsOf(faults, run).length < at;
      if (isDone) break;
      await server.stop('SIGKILL');
      server = await startServer(t, { data, environment });
      client = new Client(server.url);
      const where = `${mode} ${at}, ${operationsOf(faults, run).at(-1) ?? 'nothing'}`;
      t.same(asideNames(data), [], `nothing lies aside: ${where}`);
      if ((await client.get(path)).status === 404) {
        outcomes.gone++;
        t.notOk(projectFolders(data).includes(id), where);
      } else {
        outcomes.whole++;
        t.notOk(reply, `${where}: nobody was told that it is gone`);
        await client.expect(201, 'POST', `${path}/open`);
        t.match((await client.get(`${path}/nodes`)).body, [{ name: 'S' }], where);
        t.equal((await client.get(`${path}/files/kept.txt`)).text, 'content', where);
        await client.expect(204, 'DELETE', path);
      }
    }
  }
  t.ok(isDone && outcomes.whole > 1 && outcomes.gone > 1, JSON.stringify(outcomes));
});
