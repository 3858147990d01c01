/** The pages of images, of snapshots and of lab files, with uploads that go on after a reload; the ends of labs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type,
} from '../support/console/console-browser.js';
import { eventually } from '../support/eventually.js';
import { LinkLab } from '../support/link-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const SIZE = 300_000;

void t.test('a browser', { skip: missingConsoleBrowser() }, async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const browser = await ConsoleBrowser.start(t);

  await t.test('uploads an image, goes on with it after a reload, and deletes it', async (t) => {
    const file = join(scratchFolder(t), 'vios-159.qcow2');
    writeFileSync(file, Buffer.alloc(SIZE, 'vios'));
    const { page, complaints } = await browser.open(server, '#/images');
    const requests: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/v2/uploads')) requests.push(request.method());
    });
    await page.getByText('There is no image of this emulator yet.').waitFor();
    await page.route('**/v2/uploads/*', (route) => route.abort());
    await page.getByLabel('Upload files').setInputFiles(file);
    const uploads = page.getByRole('region', { name: 'Uploads' });
    await uploads.getByText('waits for the network, goes on by itself').waitFor();
    t.same(await hindrances(page), []);
    await page.unroute('**/v2/uploads/*');
    await page.reload();
    await page.getByText('There is no image of this emulator yet.').waitFor();
    await page.getByLabel('Upload files').setInputFiles(file);
    await uploads.getByText('finished').waitFor();
    await page.getByRole('table', { name: 'Images' }).getByRole('link', { name: 'vios-159.qcow2' }).waitFor();
    t.equal(requests.filter((method) => method === 'POST').length, 1, 'there was one upload');
    t.match((await client.get('/v2/compute/qemu/images')).body, [
      { filename: 'vios-159.qcow2', filesize: SIZE },
    ]);
    await page.getByRole('button', { name: 'Rename vios-159.qcow2' }).click();
    const renaming = page.getByRole('dialog', { name: 'Rename vios-159.qcow2' });
    await type(renaming.getByLabel('Image'), 'vios.qcow2');
    t.same(await hindrances(page), []);
    await page.keyboard.press('Enter');
    await renaming.waitFor({ state: 'detached' });
    t.match((await client.get('/v2/compute/qemu/images')).body, [{ filename: 'vios.qcow2', filesize: SIZE }]);
    t.same((await client.get('/v2/images/qemu/uses')).body, {});
    await page.getByRole('table').getByRole('button', { name: 'Delete vios.qcow2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this image' });
    await type(dialog.getByLabel('Type the name'), 'vios.qcow2');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('There is no image of this emulator yet.').waitFor();
    t.same(
      complaints.filter((complaint) => !complaint.includes('net::ERR_FAILED')),
      [],
    );
  });

  await t.test('takes a snapshot, shows what has changed since, restores and deletes it', async (t) => {
    const lab = await LinkLab.make({ client, url: server.url }, { name: 'bgp-101' });
    const node = await lab.hub('R1');
    const files = `${lab.path}/nodes/${String(node['node_id'])}/files`;
    await client.expect(201, 'POST', `${files}/startup.cfg`, 'hostname R1\nmtu 1500\n');
    const { page, complaints } = await browser.open(server, '#/labs');
    await page.getByRole('link', { name: 'Snapshots of bgp-101' }).click();
    await page.getByText('This lab has no snapshot yet.').waitFor();
    await page.getByRole('button', { name: 'Take a snapshot' }).click();
    const creation = page.getByRole('dialog', { name: 'Take a snapshot' });
    await type(creation.getByLabel('Name'), 'before');
    await creation.getByRole('button', { name: 'Take' }).click();
    await page.getByRole('button', { name: 'Changes since before' }).click();
    await page.getByText('Nothing has changed since.').waitFor();
    await lab.hub('R2');
    await client.expect(201, 'POST', `${files}/startup.cfg`, 'hostname R1\nmtu 9000 <img src=x>\nend\n');
    await client.expect(201, 'POST', `${files}/nvram`, Buffer.from([0, 1, 2]));
    await page.getByRole('button', { name: 'Changes since before' }).click();
    await page.getByRole('list', { name: 'Changes since then' }).getByText('+ added node R2').waitFor();
    await page.getByRole('button', { name: 'Show the changes of R1/startup.cfg' }).click();
    await page.getByText('+2 −1').waitFor();
    await page
      .getByRole('region', { name: 'Changes of R1/startup.cfg' })
      .getByText('+mtu 9000 <img src=x>')
      .waitFor();
    await page.getByRole('button', { name: 'Show the changes of R1/nvram' }).click();
    await page.getByText('This is no text: then no file, now 3 octets.').waitFor();
    t.same(await hindrances(page), []);
    await page.getByRole('button', { name: 'Restore R1…' }).click();
    const ofNode = page.getByRole('dialog', { name: 'Restore R1 from before' });
    await type(ofNode.getByLabel('Type the name'), 'R1');
    await ofNode.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('R1 is as it was in before.').waitFor();
    t.equal((await client.get(`${files}/startup.cfg`)).text, 'hostname R1\nmtu 1500\n');
    t.match((await client.get(`${lab.path}/nodes`)).body, { length: 2 }, 'the other node stays');
    await page.getByRole('button', { name: 'Restore before' }).click();
    const restoration = page.getByRole('dialog', { name: 'Restore the lab from before' });
    await type(restoration.getByLabel('Type the name'), 'before');
    await restoration.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The lab is as it was in before.').waitFor();
    t.match((await client.get(`${lab.path}/nodes`)).body, { length: 1 });
    await page.getByRole('button', { name: 'Delete before' }).click();
    const deletion = page.getByRole('dialog', { name: 'Delete this snapshot' });
    await type(deletion.getByLabel('Type the name'), 'before');
    await deletion.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('This lab has no snapshot yet.').waitFor();
    t.same(complaints, []);
  });

  await t.test('plans and applies a lab file, and gives the lab another end', async (t) => {
    const lab = await LinkLab.make({ client, url: server.url }, { name: 'planned' });
    const { page, complaints } = await browser.open(server, `#/labs/${lab.id}`);
    await page.getByRole('button', { name: 'Lab file…' }).click();
    await page.getByRole('heading', { name: 'Lab file of planned' }).waitFor();
    const text = page.getByRole('textbox', { name: 'Lab file (YAML)' });
    const hasText = (part: string): Promise<boolean> =>
      eventually(`a text with ${part}`, async () => (await text.inputValue()).includes(part) || undefined);
    // It is clicked, which waits until it can be used, as a key does not.
    const plan = page.getByRole('button', { name: 'Plan' });
    await text.fill('name: planned\nnodes:\n  SW1: { kind: toaster }');
    await plan.click();
    await page.getByText(/^line 3: nodes\.SW1\.kind: /).waitFor();
    const folder = scratchFolder(t);
    const named = '{ kind: vpcs, files: { startup.vpc: ./pc1.vpc } }';
    const source = `name: planned\nnodes:\n  SW1: { kind: ethernet_switch }\n  PC1: ${named}\nlinks:\n  - [SW1:e0, PC1:e0]\n`;
    const [file, startup] = [join(folder, 'lab.yaml'), join(folder, 'pc1.vpc')];
    writeFileSync(file, source);
    writeFileSync(startup, 'ip 10.0.0.1/24\n');
    await page.getByLabel('Or choose a lab file').setInputFiles(file);
    await hasText('PC1');
    await plan.click();
    await page.getByText('PC1: choose its file ./pc1.vpc, too').waitFor();
    await page.getByLabel('Or choose a lab file').setInputFiles(startup);
    await plan.click();
    await page.getByRole('row', { name: /^create node SW1 ○ live/ }).waitFor();
    t.same(await hindrances(page), []);
    await page.getByRole('button', { name: 'Apply' }).press('Enter');
    await page.getByText('✓ The file is applied.').waitFor();
    await text.fill(source.replace('kind: ethernet_switch', 'kind: ethernet_hub'));
    await plan.click();
    await page.getByText('made anew: what is in it is lost').first().waitFor();
    t.equal(await page.getByRole('button', { name: 'Apply' }).isEnabled(), false);
    await page.getByRole('checkbox', { name: /^Make nodes anew/ }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('✓ The file is applied.').waitFor();
    await text.fill('');
    await page.getByRole('button', { name: 'Take the lab as it is' }).click();
    await hasText('ethernet_hub');
    await plan.click();
    await page.getByText('There is nothing to do').waitFor();
    await page.getByRole('link', { name: 'Map' }).click();
    await page.getByRole('button', { name: 'End time…' }).click();
    const dialog = page.getByRole('dialog', { name: 'End of planned' });
    await dialog.getByText('Nothing ends this lab.').waitFor();
    await dialog.getByRole('button', { name: '8 hours later' }).click();
    await dialog.getByLabel(/^Ends when nobody/).fill('90');
    t.same(await hindrances(page), []);
    await dialog.getByRole('button', { name: 'Set' }).click();
    await dialog.waitFor({ state: 'detached' });
    const path = `${lab.path}/end-time`;
    const { ends_at: end, idle_after: idle } = await client.expect(200, 'GET', path);
    const hours = (Date.parse(String(end)) - Date.now()) / 3_600_000;
    t.ok(hours > 6 && hours < 8.1, `${hours}`);
    t.equal(idle, 5400);
    await page.getByRole('button', { name: 'End time…' }).click();
    await dialog.getByText(/^It ends /).waitFor();
    await dialog.getByRole('button', { name: 'No end' }).click();
    await dialog.getByRole('button', { name: 'Set' }).click();
    await dialog.waitFor({ state: 'detached' });
    t.match(await client.expect(200, 'GET', path), { ends_at: null, idle_after: 5400 });
    t.same(complaints, []);
  });
});
