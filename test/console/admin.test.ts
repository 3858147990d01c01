/** The pages of administration and of teachers, by keys and by pointer, for those who may use them. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { GRANTS } from '../../src/base/rights.js';
import { addUser, firstAdmin, PASSWORD, signedIn } from '../support/accounts.js';
import { Client } from '../support/client.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type,
  type ConsolePage,
} from '../support/console/console-browser.js';
import { eventually } from '../support/eventually.js';
import { end, LinkLab } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';

void t.test('a browser', { skip: missingConsoleBrowser() }, async (t) => {
  const server = await startServer(t);
  const admin = await firstAdmin(server);
  await addUser(admin, server, 'alice', 'user');
  const browser = await ConsoleBrowser.start(t);

  /** Opens a page of the console as one of the users. */
  const openAs = async (name: string, address: string): Promise<ConsolePage> => {
    const opened = await browser.open(server, address);
    await type(opened.page.getByLabel('User'), name);
    await type(opened.page.getByLabel('Password'), PASSWORD);
    await opened.page.keyboard.press('Enter');
    await opened.page.getByRole('navigation', { name: 'Menu' }).waitFor();
    return opened;
  };

  await t.test('makes, changes and deletes users, and shows passwords once', async (t) => {
    const { page, complaints } = await openAs('root', '#/labs');
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('main').getByRole('link', { name: 'Users' }).click();
    const rows = page.getByRole('table', { name: 'Users' }).getByRole('row');
    await rows.filter({ hasText: 'alice' }).waitFor();
    t.same(await hindrances(page), []);
    await run(page, 'new user');
    await type(page.getByRole('dialog', { name: 'New user' }).getByLabel('Name'), 'bob');
    t.same(await hindrances(page), []);
    await page.keyboard.press('Enter');
    const shown = page.getByRole('dialog', { name: 'The password of bob' });
    const password = await shown.getByText(/^[a-z0-9]{5}(-[a-z0-9]{5}){3}$/).innerText();
    t.equal((await signedIn(server, 'bob', password).get('/v2/account')).status, 200);
    t.same(await hindrances(page), []);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Change bob' }).click();
    const change = page.getByRole('dialog', { name: 'Change bob' });
    await change.getByLabel('Role').selectOption('auditor');
    await change.getByText('as curl').click();
    await change.getByText(/^curl -X PUT --json '\{"name":"bob","role":"auditor"\}' http/).waitFor();
    await change.getByRole('button', { name: 'Change', exact: true }).click();
    await rows.filter({ hasText: 'bob' }).getByText('auditor').waitFor();
    await page.getByRole('button', { name: 'Change root' }).click();
    const fall = page.getByRole('dialog', { name: 'Change root' });
    await fall.getByLabel('Role').selectOption('user');
    await fall.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    await rows.filter({ hasText: 'root' }).getByText('admin').waitFor();
    await page.getByRole('button', { name: 'Password of bob' }).click();
    const reset = page.getByRole('dialog', { name: 'Password of bob' });
    await reset.getByLabel('Password').selectOption('none');
    await reset.getByRole('button', { name: 'Change the password' }).click();
    await rows.filter({ hasText: 'bob' }).getByText('by tokens only').waitFor();
    t.equal((await signedIn(server, 'bob', password).get('/v2/account')).status, 401);
    await page.getByRole('checkbox', { name: 'Select bob' }).check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const deletion = page.getByRole('dialog', { name: 'Delete this user' });
    await type(deletion.getByLabel('Type the name'), 'bob');
    await deletion.getByRole('button', { name: 'Delete' }).click();
    await rows.filter({ hasText: 'bob' }).waitFor({ state: 'detached' });
    t.same(complaints, []);
  });

  await t.test('makes groups, and says which member is nobody', async (t) => {
    const { page, complaints } = await openAs('root', '#/admin/groups');
    await page.getByText('There is no group yet.').waitFor();
    await run(page, 'new group');
    const dialog = page.getByRole('dialog', { name: 'New group' });
    await type(dialog.getByLabel('Name'), 'class');
    await type(dialog.getByLabel('Members, one a line'), 'alice\nnobody');
    await type(dialog.getByLabel('Teachers, one a line'), 'root');
    t.same(await hindrances(page), []);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').filter({ hasText: 'nobody' }).waitFor();
    await type(dialog.getByLabel('Members, one a line'), 'alice');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const row = page.getByRole('table', { name: 'Groups' }).getByRole('row').filter({ hasText: 'class' });
    await row.waitFor();
    t.match((await admin.get('/v2/groups')).body, [{ members: ['alice'], teachers: ['root'] }]);
    t.same(complaints, []);
  });

  await t.test('gives everybody tokens with lines that work', async (t) => {
    const { page, complaints } = await openAs('alice', '#/labs');
    const menu = page.getByRole('navigation', { name: 'Menu' });
    await menu.getByRole('link', { name: 'Labs' }).waitFor();
    t.equal(await menu.getByRole('link', { name: 'Admin' }).count(), 0, 'she administers nothing');
    await page.getByRole('button', { name: 'Account and looks: alice' }).click();
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByText('There is no token yet.').waitFor();
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog', { name: 'New token' });
    await type(dialog.getByLabel('Name'), 'nightly');
    await dialog.getByLabel('Rights').selectOption('chosen');
    t.ok(await dialog.getByRole('button', { name: 'Create' }).isDisabled(), 'no right is no token');
    await dialog.getByRole('checkbox', { name: 'projects:read' }).check();
    t.same(await hindrances(page), []);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const shown = page.getByRole('dialog', { name: 'The token nightly' });
    const secret = await shown.getByText(/^wf_\S+$/).innerText();
    await shown.getByRole('region', { name: 'Prometheus' }).getByText('metrics_path: /metrics').waitFor();
    await shown.getByText(`url="${server.url}", user="token", cred="${secret}"`).waitFor();
    t.same(await hindrances(page), []);
    const holder = new Client(server.url, { Authorization: `Bearer ${secret}` });
    t.match((await holder.get('/v2/account')).body, { name: 'alice', rights: ['projects:read'] });
    await page.keyboard.press('Escape');
    await page.getByRole('checkbox', { name: 'Select nightly' }).check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const deletion = page.getByRole('dialog', { name: 'Delete this token' });
    await type(deletion.getByLabel('Type the name'), 'nightly');
    await deletion.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no token yet.').waitFor();
    t.equal((await holder.get('/v2/account')).status, 401);
    t.same(complaints, []);
  });

  await t.test('shares a lab, and deals it to a class whose copies are collected and reset', async (t) => {
    const lab = await LinkLab.make({ client: admin, url: server.url }, { name: 'homework' });
    const { page, complaints } = await openAs('root', '#/labs');
    await page.getByRole('row').filter({ hasText: 'homework' }).getByRole('cell', { name: 'root' }).waitFor();
    await page.getByRole('checkbox', { name: 'Select homework' }).check();
    await page.getByRole('button', { name: 'Share…' }).click();
    const share = page.getByRole('dialog', { name: 'Share homework' });
    await type(share.getByLabel('Name'), 'alice');
    await share.getByRole('button', { name: 'Share', exact: true }).click();
    const holders = share.getByRole('list', { name: 'Who may use it' }).getByRole('listitem');
    await holders.filter({ hasText: /^alice \(a user\)\s*use/ }).waitFor();
    t.same(await hindrances(page), []);
    t.match((await admin.get(`${lab.path}/grants`)).text, /"grant":"use","name":"alice"/);
    await share.getByRole('button', { name: 'Take it away from alice' }).click();
    await holders.filter({ hasText: 'alice' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    await page.goto(`${server.url}/#/admin/groups`);
    await page.getByRole('link', { name: 'class', exact: true }).click();
    await page.getByText('No lab has been dealt to this group yet.').waitFor();
    await run(page, 'deal a lab');
    const deal = page.getByRole('dialog', { name: 'Deal a lab' });
    await deal.getByText('as curl').click();
    await deal.getByText(`curl -X POST ${server.url}${lab.path}/deals/class`).waitFor();
    await deal.getByRole('button', { name: 'Deal', exact: true }).click();
    const row = page
      .getByRole('table', { name: 'Labs of class' })
      .getByRole('row')
      .filter({ hasText: 'alice' });
    await row.getByText('closed').waitFor();
    t.same(await hindrances(page), []);
    await row.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await row.getByRole('link', { name: 'Consoles of alice in homework' }).waitFor();
    const idle = (): Promise<true> =>
      eventually('no job is under way', async () => {
        const jobs = (await admin.get('/v2/jobs')).body as unknown[];
        return jobs.length === 0 || undefined;
      });
    await idle();
    await page.getByRole('button', { name: 'Collect…' }).click();
    const collection = page.getByRole('dialog', { name: 'Take a snapshot of each copy of homework' });
    await type(collection.getByLabel('Name of the snapshots'), 'Monday');
    await collection.getByRole('button', { name: 'Collect' }).click();
    await collection.waitFor({ state: 'detached' });
    await idle();
    const [copy] = (await admin.get(`${lab.path}/deals/class`)).body as { project_id: string }[];
    const path = `/v2/projects/${copy?.project_id ?? ''}`;
    t.match((await admin.get(`${path}/snapshots`)).text, /"name":"Monday"/);
    const node = { name: 'extra', node_type: 'ethernet_switch', compute_id: 'local' };
    await admin.expect(201, 'POST', `${path}/nodes`, node);
    await page.getByRole('button', { name: 'Reset to start…' }).click();
    const reset = page.getByRole('dialog', { name: 'Reset this copy' });
    t.same(await hindrances(page), []);
    await type(reset.getByLabel('Type the name'), 'alice');
    await reset.getByRole('button', { name: 'Reset' }).click();
    await reset.waitFor({ state: 'detached' });
    await idle();
    t.same((await admin.get(`${path}/nodes`)).body, [], 'it is what it was when it was dealt');
    t.same(complaints, []);
  });

  await t.test(
    'offers as much of a lab as a grant allows now, and the server refuses the rest',
    async (t) => {
      const lab = await LinkLab.make({ client: admin, url: server.url }, { name: 'lent' });
      const [near, far] = [await lab.hub('near'), await lab.hub('far')];
      const link = lab.at(await lab.link([end(near, 0), end(far, 0)]));
      const { snapshot_id: snapshot } = await admin.expect(201, 'POST', `${lab.path}/snapshots`, {
        name: 'old',
      });
      /** The grant that a button needs, the button, and the call that it makes. */
      type Offer = readonly [grant: string, button: string, method: string, path: string, body?: object];
      const inList: readonly Offer[] = [
        ['view', 'Export', 'GET', `${lab.path}/export`],
        ['use', 'Open', 'POST', `${lab.path}/open`],
        ['use', 'Close', 'POST', `${lab.path}/close`],
        ['use', 'Start', 'POST', `${lab.path}/nodes/start`],
        ['edit', 'Snapshot…', 'POST', `${lab.path}/snapshots`, { name: 'new' }],
        ['owner', 'Share…', 'PUT', `${lab.path}/grants/root`, { grant: 'view' }],
        ['owner', 'Delete…', 'DELETE', lab.path],
      ];
      const onMap: readonly Offer[] = [
        ['view', 'Fit', 'GET', `${lab.path}/map`],
        ['use', 'Start all', 'POST', `${lab.path}/nodes/start`],
        ['use', 'Suspend', 'PUT', link, { suspend: true }],
        ['use', 'Start capture', 'POST', `${link}/start_capture`, {}],
        ['use', 'Apply', 'PUT', `${link}/directed_filters`, { forward: {}, backward: {} }],
        ['edit', 'Add node', 'POST', `${lab.path}/nodes/batch`, { create: [] }],
        ['edit', 'Arrange', 'POST', `${lab.path}/nodes/batch`, { update: [] }],
        ['edit', 'Delete', 'DELETE', link],
      ];
      const ofSnapshots: readonly Offer[] = [
        ['view', 'Export old', 'GET', `${lab.path}/snapshots/${String(snapshot)}/archive`],
        ['edit', 'Take a snapshot', 'POST', `${lab.path}/snapshots`, { name: 'new' }],
        ['edit', 'Restore old', 'POST', `${lab.path}/snapshots/${String(snapshot)}/restore`],
        ['edit', 'Delete old', 'DELETE', `${lab.path}/snapshots/${String(snapshot)}`],
      ];
      const { page, complaints } = await openAs('alice', '#/jobs');
      const alice = signedIn(server, 'alice');
      const changes: string[] = [];
      page.on('request', (request) => {
        if (request.method() !== 'GET') changes.push(`${request.method()} ${request.url()}`);
      });
      for (const [rank, grant] of GRANTS.entries()) {
        await admin.expect(200, 'PUT', `${lab.path}/grants/alice`, { grant });
        const check = async (offers: readonly Offer[]): Promise<void> => {
          for (const [needed, name, method, path, body] of offers) {
            const isOffered = GRANTS.findIndex((known) => known === needed) <= rank;
            const button = page.getByRole('main').getByRole('button', { name, exact: true });
            t.equal(await button.count(), isOffered ? 1 : 0, `${grant}: ${name}`);
            if (!isOffered)
              t.equal((await alice.request(method, path, body)).status, 403, `${grant}: ${path}`);
          }
        };
        await page.goto(`${server.url}/#/labs`);
        // The owners are told together with the grant.
        await page.getByRole('row').filter({ hasText: 'lent' }).getByRole('cell', { name: /root/ }).waitFor();
        await page.getByRole('checkbox', { name: 'Select lent' }).check();
        await check(inList);
        await page.getByRole('link', { name: 'lent', exact: true }).click();
        await page.getByRole('row', { name: /^near/ }).click();
        await page
          .getByRole('region', { name: 'Inspector' })
          .getByRole('button', { name: 'near – far' })
          .click();
        await page.getByRole('heading', { name: 'near 0/0 – far 0/0' }).waitFor();
        if (rank > 0) await page.getByRole('form', { name: 'Filters' }).waitFor();
        await check(onMap);
        if (rank === 0) {
          await page.keyboard.press('a');
          await page.getByRole('row', { name: /^near/ }).click();
          await page.getByRole('application').press('Shift+ArrowRight');
          await page.keyboard.press('Delete');
          await page.keyboard.press('?');
          await page.getByRole('dialog', { name: 'Keys' }).waitFor();
          t.equal(await page.getByRole('dialog').count(), 1, 'no key opens what is not offered');
          await page.keyboard.press('Escape');
        }
        await page.goto(`${server.url}/#/labs/${lab.id}/snapshots`);
        await page.getByRole('button', { name: rank > 1 ? 'Restore old' : 'Export old' }).waitFor();
        await check(ofSnapshots);
        await page.goto(`${server.url}/#/jobs`);
      }
      await page.goto(`${server.url}/#/labs/${lab.id}/snapshots`);
      const restoration = page.getByRole('button', { name: 'Restore old' });
      await restoration.waitFor();
      await admin.expect(200, 'PUT', `${lab.path}/grants/alice`, { grant: 'view' });
      await restoration.waitFor({ state: 'detached' });
      await admin.expect(200, 'PUT', `${lab.path}/grants/alice`, { grant: 'edit' });
      await restoration.waitFor();
      t.same(changes, [], 'nothing was sent');
      t.same(complaints, []);
    },
  );

  await t.test('shows quotas beside what is used, and changes them', async (t) => {
    const { page, complaints } = await openAs('root', '#/admin/quotas');
    await page.getByRole('region', { name: 'The server' }).getByText('Processors').waitFor();
    t.same(await hindrances(page), []);
    await page.getByRole('button', { name: 'Quota of alice' }).click();
    const dialog = page.getByRole('dialog', { name: 'Quota of alice' });
    await type(dialog.getByLabel('Own limit of Nodes', { exact: true }), '5');
    await type(dialog.getByLabel('Own limit of Memory (MiB)'), '1024');
    await type(dialog.getByLabel('Own limit of Links'), 'none');
    t.same(await hindrances(page), []);
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await admin.get('/v2/users');
    const quota = { nodes: 5, memory: 1024 ** 3, links: null };
    t.match(
      (body as { name: string }[]).find(({ name }) => name === 'alice'),
      { quota },
    );
    await page.getByRole('button', { name: 'Quota of alice' }).click();
    await dialog.getByRole('row', { name: /^Memory 0 B 1.0 GiB/ }).waitFor();
    t.same(complaints, []);
  });

  await t.test('shows the audit by user and time, and whether it is whole', async (t) => {
    const { page, complaints } = await openAs('root', '#/admin/audit');
    const rows = page.getByRole('table', { name: 'Audit' }).getByRole('row');
    const filter = page.getByLabel(/^Filter what is shown/);
    await type(filter, '/v2/groups 201');
    await rows.filter({ hasText: 'POST /v2/groups' }).waitFor();
    await type(page.getByLabel('User (name or id)'), 'alice');
    await page.getByText('Nothing fits the filter.').waitFor();
    await type(filter, 'tokens');
    await rows.filter({ hasText: 'DELETE /v2/tokens/{token_id}' }).waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText(/^✓ \d+ lines, 1 to \d+: whole$/).waitFor();
    t.same(await hindrances(page), []);
    t.same(complaints, []);
  });

  await t.test('makes a backup, sees what is not in it, verifies, downloads and deletes it', async (t) => {
    const lost = String((await admin.expect(201, 'POST', '/v2/projects', { name: 'lost' }))['project_id']);
    const place = join(server.data, 'projects', lost);
    renameSync(place, `${place}-elsewhere`);
    const { page, complaints } = await openAs('root', '#/admin/backups');
    await page.getByText('There is no backup yet.').waitFor();
    await run(page, 'new backup');
    await page.getByRole('dialog', { name: 'New backup' }).getByRole('button', { name: 'Begin' }).click();
    await page
      .getByRole('list', { name: /^1 lab is not in it/ })
      .getByText(/^lost: ./)
      .waitFor();
    renameSync(`${place}-elsewhere`, place);
    await admin.expect(204, 'DELETE', `/v2/projects/${lost}`);
    await page.getByRole('button', { name: /^Verify the backup of / }).click();
    await page.getByRole('list', { name: 'Backups' }).getByText('The backup is whole.').waitFor();
    t.same(await hindrances(page), []);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: /^Download the backup of / }).click();
    t.match((await download).suggestedFilename(), /^backup-.*\.tar$/);
    await (await download).path();
    const { body } = await admin.get('/v2/admin/backups');
    const [backup] = (body as { backups: { backup_id: string }[] }).backups;
    await page.getByRole('button', { name: /^Delete the backup of / }).click();
    const deletion = page.getByRole('dialog', { name: 'Delete this backup' });
    await type(deletion.getByLabel('Type the name'), backup?.backup_id ?? '');
    await deletion.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no backup yet.').waitFor();
    t.same(complaints, []);
  });

  await t.test('examines the host, and shows the history of the server', async (t) => {
    const { page, complaints } = await openAs('root', '#/admin/doctor');
    await page.getByText(/^\d+ checks: \d+ failed, \d+ warn$/).waitFor();
    await page.getByRole('main').getByRole('listitem').filter({ hasText: '✓ ok' }).first().waitFor();
    t.same(await hindrances(page), []);
    await page.getByRole('navigation', { name: 'Admin' }).getByRole('link', { name: 'History' }).click();
    await page
      .getByRole('table', { name: 'History' })
      .getByRole('row')
      .filter({ hasText: 'root' })
      .first()
      .waitFor();
    t.same(await hindrances(page), []);
    t.same(complaints, []);
  });
});

/** Does something by its name in the palette. */
async function run(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await type(page.getByRole('combobox', { name: 'Name of a page, a lab or a command' }), name);
  await page.getByRole('option', { name: new RegExp(name, 'i') }).waitFor();
  await page.keyboard.press('Enter');
}
