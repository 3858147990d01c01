/** Pages of the console about all labs, and the paths of the interface that they have beyond single labs. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { WebSocket } from 'ws';
import { addUser, firstAdmin } from '../support/accounts.js';
import { Client } from '../support/client.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type,
} from '../support/console/console-browser.js';
import { end, LinkLab } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };

/** A lab with a link that is captured. */
async function capturedLab(name: string): Promise<LinkLab> {
  const lab = await LinkLab.make(host, { name });
  const [near, far] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(near, 0), end(far, 0)]);
  await client.expect(201, 'POST', `${lab.at(link)}/start_capture`, { capture_file_name: `${name}.pcap` });
  return lab;
}

const bgp = await capturedLab('bgp-101');
await capturedLab('atm-core');

void t.test('the overview counts labs, engines and captures, once and each second', async (t) => {
  const seen = (await client.expect(200, 'GET', '/v2/overview')) as {
    engines: { labs: number; ports: number }[];
  };
  t.match(seen, { projects: { opened: 2, closed: 0 }, captures: { running: 2 }, jobs: 0, web_ui: false });
  t.equal(
    seen.engines.reduce((sum, { labs }) => sum + labs, 0),
    2,
  );
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v2/overview/ws`);
  const frames: { time: number }[] = [];
  socket.on('message', (frame: Buffer) => frames.push(JSON.parse(frame.toString()) as { time: number }));
  while (frames.length < 2) await once(socket, 'message');
  socket.close();
  const [first, second] = frames;
  t.ok((second?.time ?? 0) > (first?.time ?? 0));
});

void t.test('labs are counted at a glance, closed ones without their nodes', async (t) => {
  const closed = await client.expect(201, 'POST', '/v2/projects', { name: 'closed' });
  const path = `/v2/projects/${String(closed['project_id'])}`;
  await client.expect(204, 'POST', `${path}/close`);
  const running = { nodes: 2, started: 2, links: 1, captures: 1 };
  t.match((await client.get('/v2/overview/projects')).body, [
    { project_id: bgp.id, owners: [], ends_at: null, running },
    { running },
    { project_id: closed['project_id'], running: null },
  ]);
  await client.expect(204, 'DELETE', path);
});

void t.test('a browser', { skip: missingConsoleBrowser() }, async (t) => {
  const browser = await ConsoleBrowser.start(t);

  await t.test('shows the server at a glance, and examines its host', async (t) => {
    const { page, complaints } = await browser.open(server);
    await page.getByRole('region', { name: 'Now' }).getByText('2 open of 2').waitFor();
    await page
      .getByRole('region', { name: 'Disks' })
      .getByRole('progressbar', { name: 'projects' })
      .waitFor();
    await page.getByRole('img', { name: /^Frames in the last ten minutes: now/ }).waitFor();
    await page.getByRole('button', { name: 'Examine the host' }).click();
    await page.getByText(/checks were made/).waitFor();
    t.same(await hindrances(page), []);
    t.same(complaints, []);
  });

  await t.test(
    'starts, takes snapshots of and exports several labs at once, and shows the jobs',
    async (t) => {
      const { page, complaints } = await browser.open(server, '#/labs');
      await page.getByRole('checkbox', { name: 'Select all that are shown' }).check();
      const actions = page.getByRole('group', { name: '2 selected' });
      await actions.getByRole('button', { name: 'Stop' }).click();
      await actions.getByRole('button', { name: 'Snapshot…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Take a snapshot of each of 2 labs' });
      await type(dialog.getByLabel('Name of the snapshot'), 'before');
      await dialog.getByText('as curl').click();
      await dialog.getByText(/^curl -X POST --json '\{"name":"before"\}' http/).waitFor();
      t.same(await hindrances(page), []);
      await dialog.getByRole('button', { name: 'Take' }).click();
      await page.getByText('The snapshots have ended.').waitFor();
      t.match((await client.get(`${bgp.path}/snapshots`)).body, [{ name: 'before' }]);
      await page.keyboard.press('g');
      await page.keyboard.press('j');
      const ended = page.getByRole('region', { name: 'Ended' }).getByRole('listitem');
      await ended.filter({ hasText: 'snapshot: create: before' }).nth(1).getByText('done').waitFor();
      t.same(await hindrances(page), []);
      await page.reload();
      await ended.filter({ hasText: 'snapshot: create: before' }).nth(1).getByText('done').waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('l');
      const row = page.getByRole('row').filter({ hasText: 'bgp-101' });
      await row.getByRole('cell', { name: '2/2' }).waitFor();
      await row.getByRole('cell', { name: /^\d+ B\/s$/ }).waitFor();
      await page.getByRole('checkbox', { name: 'Select bgp-101' }).check();
      const download = page.waitForEvent('download');
      await page.getByRole('group', { name: '1 selected' }).getByRole('button', { name: 'Export' }).click();
      const archive = await (await download).path();
      t.equal(readFileSync(archive).subarray(0, 2).toString(), 'PK');
      await page.getByRole('button', { name: 'Import' }).click();
      const importing = page.getByRole('dialog', { name: 'Import' });
      await importing.getByLabel('Archive').setInputFiles(archive);
      await type(importing.getByLabel('Name'), 'brought back');
      await importing.getByRole('button', { name: 'Import' }).click();
      await page.getByRole('link', { name: 'brought back', exact: true }).waitFor();
      t.same(complaints, []);
    },
  );

  await t.test('downloads and deletes capture files of all labs', async (t) => {
    await client.expect(204, 'POST', `${bgp.path}/close`);
    const { page, complaints } = await browser.open(server, '#/captures');
    const rows = page.getByRole('table', { name: 'Captures' }).getByRole('row');
    await rows.filter({ hasText: 'atm-core.pcap' }).getByText('running').waitFor();
    const finished = rows.filter({ hasText: 'bgp-101.pcap' }).first();
    await finished.getByRole('checkbox').check();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    t.match((await download).suggestedFilename(), /tar/);
    t.same(await hindrances(page), []);
    const files = await rows.count();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this file' });
    await type(dialog.getByLabel('Type the name'), 'bgp-101.pcap');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await rows.nth(files - 1).waitFor({ state: 'detached' });
    t.same(complaints, []);
  });

  await t.test('deletes a lab only for who types its name', async (t) => {
    const { page, complaints } = await browser.open(server, '#/labs');
    await page.getByRole('checkbox', { name: 'Select atm-core' }).check();
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this lab' });
    const button = dialog.getByRole('button', { name: 'Delete' });
    await type(dialog.getByLabel('Type the name'), 'atm');
    t.ok(await button.isDisabled());
    await type(dialog.getByLabel('Type the name'), 'atm-core');
    await button.click();
    await page.getByRole('link', { name: 'atm-core', exact: true }).waitFor({ state: 'detached' });
    t.same(complaints, []);
  });
});

void t.test('jobs and captures of projects are for those who may see them', async (t) => {
  await capturedLab('isp');
  const admin = await firstAdmin(server);
  const { client: alice } = await addUser(admin, server, 'alice', 'user');
  const { client: auditor } = await addUser(admin, server, 'audrey', 'auditor');
  t.ok(((await admin.get('/v2/captures')).body as unknown[]).length > 0);
  t.same((await alice.get('/v2/captures')).body, []);
  t.equal((await auditor.get('/v2/captures')).status, 403);
  t.same((await alice.get('/v2/jobs')).body, []);
  t.same((await alice.get('/v2/jobs/ended')).body, []);
  t.match((await admin.get('/v2/jobs/ended')).body, [{ kind: 'project.import', outcome: 'done' }]);
  t.same((await alice.get('/v2/overview/projects')).body, []);
  t.equal((await alice.get('/v2/overview')).status, 200);
  t.equal((await client.get('/v2/overview')).status, 401);
});
