/** Consoles of nodes in a browser: tiles and windows, keys, those who are there, and nodes that stop and start. */
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import t from 'tap';
import { WebSocket } from 'ws';
import { consolePlace } from '../../src/console/map/console-place.js';
import { addUser, basic, firstAdmin, PASSWORD } from '../support/accounts.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type,
} from '../support/console/console-browser.js';
import { eventually } from '../support/eventually.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { NodeLab, type Json } from '../support/node-lab.js';
import { headerOf, rawRequest } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

const skip = missingConsoleBrowser() || missingVpcs();
const server = await startServer(t);

/** A line that the screen of a terminal shows, as it is read to people. */
const line = (terminal: Page | FrameLocator, text: RegExp): Locator =>
  terminal.getByRole('listitem').filter({ hasText: text }).last();

const input = (terminal: Page | FrameLocator): Locator =>
  terminal.getByRole('textbox', { name: /^Console of/ });

const tile = (page: Page, name: string): FrameLocator =>
  page.frameLocator(`iframe[title="Console of ${name}"]`);

/** Somebody at a console who types nothing that would be lost, and keeps what is told. */
async function watcher(
  lab: NodeLab,
  node: Json,
  user: string,
): Promise<{ readonly told: Json[]; socket: WebSocket }> {
  const url = `${server.url.replace('http', 'ws')}${lab.at(node)}/console/ws?news=yes&mode=watch`;
  const socket = new WebSocket(url, { headers: basic(user) });
  const told: Json[] = [];
  socket.on('message', (bytes: Buffer, isBinary) => {
    if (!isBinary) told.push(JSON.parse(bytes.toString()) as Json);
  });
  await once(socket, 'open');
  return { told, socket };
}

void t.test('the terminal is a document of its own, whose policy alone allows style elements', async (t) => {
  const reply = await rawRequest(server.port, 'GET', '/terminal.html', {});
  t.match(headerOf(reply, 'Content-Security-Policy'), /script-src 'self'; style-src 'self' 'unsafe-inline';/);
  const first = await rawRequest(server.port, 'GET', '/', {});
  t.notMatch(headerOf(first, 'Content-Security-Policy'), /unsafe/);
});

void t.test('the place of a console is that which a browser reaches, whatever the node says', (t) => {
  const node = { console: 5900, console_host: '127.0.0.1', console_type: 'vnc' as const, properties: {} };
  t.match(consolePlace(node, 'localhost'), { url: 'vnc://127.0.0.1:5900', isFar: false });
  t.match(consolePlace(node, 'labs.example.org'), { isFar: true });
  t.match(consolePlace({ ...node, console_host: '::' }, '[2001:db8::1]'), { at: '[2001:db8::1]:5900' });
  t.match(consolePlace({ ...node, console_host: 'a\npassword=b' }, 'a'), {
    viewerFile: '[virt-viewer]\ntype=vnc\nhost=apassword=b\nport=5900\n',
  });
  const page = {
    ...node,
    console_type: 'http' as const,
    properties: { console_http_path: '@evil.example/' },
  };
  t.match(consolePlace(page, 'a'), { url: 'http://127.0.0.1:5900/@evil.example/', viewerFile: undefined });
  t.equal(consolePlace({ ...node, console: null }, 'a'), undefined);
  t.end();
});

void t.test('a browser', { skip }, async (t) => {
  const browser = await ConsoleBrowser.start(t);
  const lab = await NodeLab.left('campus', server);
  const pcs = [await lab.pc('PC1', '10.0.0.1'), await lab.pc('PC2', '10.0.0.2')];
  const [first = {}, second = {}] = pcs;
  const alone = `terminal.html?lab=${lab.id}&node=${String(first['node_id'])}`;

  await t.test(
    'consoles are opened from the map, typed into one by one and all at once, by keys',
    async (t) => {
      const { page, complaints } = await browser.open(server, `#/labs/${lab.id}`);
      await page.getByText('2 nodes, 0 links').waitFor();
      await page.keyboard.press('t');
      await page
        .getByRole('status')
        .filter({ hasText: 'Select a node, a link or a drawing.' })
        .waitFor({ state: 'attached' });
      await page.keyboard.press('Control+a');
      await page.keyboard.press('t');
      const [one, two] = [tile(page, 'PC1'), tile(page, 'PC2')];
      await line(one, /^PC1>/).waitFor();
      await line(two, /^PC2>/).waitFor();
      const isIn = (terminal: FrameLocator): Promise<void> =>
        input(terminal).and(terminal.locator(':focus')).waitFor();
      await isIn(one);
      await page.keyboard.type('show ip\n');
      await line(one, /IP\/MASK +: 10\.0\.0\.1/).waitFor();
      t.equal(await line(two, /IP\/MASK/).count(), 0);
      await page.keyboard.press('Control+F6');
      await page.locator('button:focus', { hasText: 'PC1' }).waitFor();
      await page.keyboard.press('F6');
      await isIn(two);
      await page.keyboard.press('Control+F6');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      for (const terminal of [one, two]) await terminal.getByText('What you type goes to all 2').waitFor();
      await page.keyboard.press('F6');
      await isIn(one);
      await page.keyboard.type('echo to all of them\n');
      for (const terminal of [one, two]) await line(terminal, /^to all of them/).waitFor();
      t.same(await hindrances(page), []);
      const opening = page.waitForEvent('popup');
      await two.getByRole('button', { name: 'Own window' }).press('Enter');
      const window = await opening;
      await line(window, /^to all of them/).waitFor();
      await page.locator('iframe').nth(1).waitFor({ state: 'detached' });
      t.equal(await page.locator('iframe').count(), 1);
      t.same(complaints, []);
      await window.close();
    },
  );

  await t.test('text is found, copied, saved and pasted, and several lines ask first', async (t) => {
    const { page, complaints } = await browser.open(server, alone, { permissions: ['clipboard-read'] });
    await line(page, /^PC1>/).waitFor();
    await input(page).focus();
    await page.keyboard.press('Control+Shift+f');
    const field = page.getByRole('searchbox', { name: 'Find in the output' });
    await field.fill('no such words');
    await page.getByText('not found').waitFor();
    await field.fill('free software');
    await page.getByText('not found').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+c');
    await page.keyboard.press('Control+Shift+f');
    await eventually('the selection was copied', async () => {
      await field.fill('');
      await field.press('Control+v');
      return (await field.inputValue()) === 'free software' || undefined;
    });
    await page.keyboard.press('Escape');
    const paste = (text: string): Promise<unknown> =>
      page.evaluate(`(() => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', ${JSON.stringify(text)});
        const pasting = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
        document.querySelector('textarea').dispatchEvent(pasting);
      })()`);
    await paste('echo one line\n');
    await line(page, /^one line/).waitFor();
    await paste('echo never\necho said\n');
    const dialog = page.getByRole('dialog', { name: 'Paste 2 lines?' });
    await dialog.waitFor();
    t.same(await hindrances(page), []);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await paste('echo first\necho second\n');
    await dialog.getByRole('button', { name: 'Paste' }).press('Enter');
    await line(page, /^second/).waitFor();
    t.equal(await line(page, /never/).count(), 0);
    await page.getByRole('button', { name: 'Larger' }).press('Enter');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    t.equal((await saving).suggestedFilename(), 'PC1.txt');
    t.same(complaints, []);
  });

  await t.test('a console says that its node stops, and goes on by itself when it starts', async (t) => {
    const { page, complaints } = await browser.open(server, alone, { viewport: { width: 400, height: 800 } });
    await line(page, /^PC1>/).waitFor();
    await lab.client.expect(204, 'POST', `${lab.at(first)}/console/reset`);
    await page.getByRole('status').filter({ hasText: 'not connected' }).waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: /● connected/ })
      .waitFor();
    await lab.act(first, 'stop');
    await page.getByRole('alert').filter({ hasText: 'The node does not run.' }).waitFor();
    t.same(await hindrances(page), []);
    await page.getByRole('button', { name: 'Start' }).press('Enter');
    await line(page, /^PC1>/).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    t.same(complaints, []);
  });

  await t.test('a console that is no text says where it is, and what opens it', async (t) => {
    const web = gns3Node('docker', {
      name: 'web',
      console_type: 'http',
      properties: { image: 'a', console_http_path: '/a' },
    });
    const screen = gns3Node('qemu', { name: 'screen', console: 5001, console_type: 'spice+agent' });
    const bare = gns3Node('vpcs', { name: 'bare', console: 5002, console_type: 'none' });
    const { id } = placeGns3Project(`${server.data}/projects`, 'screens', { nodes: [web, screen, bare] });
    const screens = new NodeLab(server, id);
    await screens.client.expect(200, 'POST', '/v2/reload');
    await screens.client.expect(201, 'POST', `${screens.path}/open`);
    const nodes = [web, screen, bare].map(({ node_id }) => node_id).join();
    const { page, complaints } = await browser.open(server, `#/labs/${id}/consoles?nodes=${nodes}`);
    const at = async (node: Json): Promise<string> => {
      const { console_host, console: port } = await screens.show(node);
      return `${String(console_host)}:${String(port)}`;
    };
    const pane = (name: string): Locator => page.getByRole('region', { name: `Console of ${name}` });

    const [webAt, screenAt] = [await at(web), await at(screen)];
    await pane('web').getByText(`This console is no text, but http at ${webAt}.`).waitFor();
    const link = pane('web').getByRole('link', { name: 'Open the page' });
    t.equal(await link.getAttribute('href'), `http://${webAt}/a`);
    t.match(await link.getAttribute('rel'), 'noopener');
    const viewer = pane('screen').getByRole('link', { name: 'Open in a viewer' });
    t.equal(await viewer.getAttribute('href'), `spice://${screenAt}`);
    const saving = page.waitForEvent('download');
    await pane('screen').getByRole('button', { name: 'Save for remote-viewer' }).press('Enter');
    const saved = await saving;
    t.equal(saved.suggestedFilename(), 'screen.vv');
    const [host = '', port = ''] = screenAt.split(':');
    const file = `[virt-viewer]\ntype=spice\nhost=${host}\nport=${port}\n`;
    t.equal(await text(await saved.createReadStream()), file);
    await pane('bare').getByText('This node has no console.').waitFor();
    t.equal(await pane('bare').getByRole('link').count(), 0);
    t.same(await hindrances(page), []);

    const status = pane('bare').getByRole('status');
    await status.filter({ hasText: 'does not run' }).waitFor();
    await pane('bare').getByRole('button', { name: 'Start' }).press('Enter');
    await status.filter({ hasText: '● runs' }).waitFor();
    await page.getByRole('button', { name: 'Go to the console of web' }).press('Enter');
    await page.keyboard.press('F6');
    await pane('screen').and(page.locator(':focus')).waitFor();
    await page.getByRole('button', { name: 'Close web' }).press('Enter');
    await pane('web').waitFor({ state: 'detached' });
    t.same(complaints, []);
  });

  await t.test('people see who else is there; who only watches types nothing', async (t) => {
    const admin = await firstAdmin(server);
    await addUser(admin, server, 'bob', 'operator');
    const { page, complaints } = await browser.open(server, '#/labs');
    await type(page.getByLabel('User'), 'root');
    await type(page.getByLabel('Password'), PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Labs' }).waitFor();
    await page.goto(`${server.url}/terminal.html?lab=${lab.id}&node=${String(second['node_id'])}`);
    await line(page, /^PC2>/).waitFor();
    const { told, socket } = await watcher(lab, second, 'bob');
    await page.getByText('bob (watching) is here').waitFor();
    await eventually('the watcher knows', () => told.length > 0 || undefined);
    t.same(told[0], { running: true, others: [{ name: 'root', mode: 'use' }] });
    socket.send(Buffer.from('echo of the watcher\r'));
    socket.send('{"columns":0}');
    await input(page).focus();
    await page.keyboard.type('echo of the user\n');
    await line(page, /^of the user/).waitFor();
    t.equal(await line(page, /of the watcher/).count(), 0);
    socket.close();
    await page.getByText('bob (watching) is here').waitFor({ state: 'detached' });
    t.same(complaints, []);
  });
});
