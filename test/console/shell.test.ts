/** The console as a browser gets it and shows it: files, keys, sessions, the connection. */
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import t from 'tap';
import { firstAdmin, PASSWORD } from '../support/accounts.js';
import { Client } from '../support/client.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type,
} from '../support/console/console-browser.js';
import { eventually } from '../support/eventually.js';
import { headerOf, rawRequest } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const KIBI = 1024;
const FOLDER = fileURLToPath(new URL('../../console', import.meta.url));
const MARKUP = '<img src=x onerror=alert(1)> & "lab"';

const server = await startServer(t);
const client = new Client(server.url);
const get = (path: string, headers: Record<string, string> = {}): ReturnType<typeof rawRequest> =>
  rawRequest(server.port, 'GET', path, { headers });

void t.test(
  'the document comes packed as the browser accepts it, with a strict policy, and once',
  async (t) => {
    const plain = (await get('/')).body.toString();
    t.match(plain, '<div id="app"></div>');
    for (const [accepted, coding, unpack] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip, deflate, br;q=0', 'gzip', gunzipSync],
    ] as const) {
      const reply = await get('/', { 'Accept-Encoding': accepted });
      t.equal(headerOf(reply, 'Content-Encoding'), coding);
      t.equal(unpack(reply.body).toString(), plain);
      t.equal(headerOf(reply, 'Cache-Control'), 'no-cache');
      t.match(headerOf(reply, 'Vary'), 'Accept-Encoding');
      t.match(
        headerOf(reply, 'Content-Security-Policy'),
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      t.equal(headerOf(reply, 'Referrer-Policy'), 'no-referrer');
      const tag = headerOf(reply, 'ETag') ?? '';
      const again = await get('/', { 'Accept-Encoding': accepted, 'If-None-Match': tag });
      t.match([again.status, again.body.length], [304, 0]);
    }
    t.equal((await get('/console')).body.toString(), plain, 'it has an address of its own, too');
  },
);

void t.test('the files that the document names are kept for ever, and no other name is a file', async (t) => {
  const document = (await get('/')).body.toString();
  const named = [...document.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => `/${path}`);
  t.equal(named.length, 3);
  for (const path of named) {
    const reply = await get(path, { 'Accept-Encoding': 'br' });
    t.equal(headerOf(reply, 'Cache-Control'), 'public, max-age=31536000, immutable', path);
    t.equal(headerOf(reply, 'X-Content-Type-Options'), 'nosniff');
    const type = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }[
      path.split('.').at(-1) ?? ''
    ];
    t.match(headerOf(reply, 'Content-Type'), type);
  }
  for (const name of ['none.js', '..%2f..%2fpackage.json', '%2fetc%2fpasswd', '.', '%00'])
    t.match((await get(`/console/${name}`)).status, /40[034]/, name);
});

void t.test('the console is small', (t) => {
  const packed = readdirSync(FOLDER).filter((name) => name.endsWith('.br') && !name.startsWith('docs'));
  const size = packed.reduce((sum, name) => sum + statSync(`${FOLDER}/${name}`).size, 0);
  t.comment(`${packed.length} files, ${size} bytes in brotli`);
  t.ok(size > 5 * KIBI && size < 250 * KIBI);
  const docs = readdirSync(FOLDER).filter((name) => /^docs.*\.br$/.test(name));
  t.equal(docs.length, 3, 'the description of the interface is a document with a script and a style');
  t.ok(docs.reduce((sum, name) => sum + statSync(`${FOLDER}/${name}`).size, 0) < 410 * KIBI);
  t.end();
});

void t.test('a browser', { skip: missingConsoleBrowser() }, async (t) => {
  const browser = await ConsoleBrowser.start(t);

  await t.test('makes and finds labs by keys alone, whatever they are called', async (t) => {
    let octets = 0;
    const { page, complaints } = await browser.open(server, '#/labs');
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith('/console/')) octets += Number(response.headers()['content-length'] ?? 0);
    });
    await page.reload();
    await page.getByText('There is no lab yet.').waitFor();
    t.ok(octets > KIBI && octets < 60 * KIBI, `the first page is ${octets} bytes`);
    await run(page, 'new lab');
    await type(page.getByRole('dialog', { name: 'New lab' }).getByLabel('Name'), MARKUP);
    t.same(await hindrances(page), []);
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'is created' }).waitFor();
    await client.expect(201, 'POST', '/v2/projects', { name: 'bgp-101' });
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    const table = page.getByRole('table', { name: 'Labs' });
    await table.getByRole('link', { name: MARKUP, exact: true }).waitFor();
    await table.getByRole('link', { name: 'bgp-101', exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('bgp open');
    await page.getByText('1 of 2', { exact: true }).waitFor();
    t.equal(await table.getByRole('checkbox', { name: 'Select bgp-101' }).count(), 1);
    t.same(await hindrances(page), []);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('go to Labs').waitFor();
    t.same(await hindrances(page), []);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 400, height: 800 });
    const last = page.getByRole('navigation', { name: 'Menu' }).getByRole('link').last();
    await eventually('small screens show all of the menu', async () => {
      const { x, width } = (await last.boundingBox()) ?? { x: 400, width: 0 };
      return x + width <= 400 || undefined;
    });
    t.same(await hindrances(page), []);
    t.same(complaints, []);
  });

  await t.test('closes and opens what is selected, and sees what others do', async (t) => {
    const { page, complaints } = await browser.open(server, '#/labs');
    const rows = page.getByRole('table', { name: 'Labs' }).getByRole('row');
    const row = rows.filter({ hasText: 'bgp-101' });
    await row.getByRole('checkbox', { name: 'Select bgp-101' }).check();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await row.getByText('closed').waitFor();
    await client.expect(201, 'POST', '/v2/projects', { name: 'made elsewhere' });
    await rows.filter({ hasText: 'made elsewhere' }).waitFor();
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await row.getByText('open').waitFor();
    t.same(complaints, []);
  });

  await t.test('says when the server is not heard, and shows everything anew when it is', async (t) => {
    const { page, complaints } = await browser.open(server, '#/none');
    let isCut = false;
    const cuts: (() => Promise<void>)[] = [];
    await page.routeWebSocket(/notifications/, (socket) => {
      if (isCut) void socket.close();
      else {
        socket.connectToServer();
        cuts.push(() => socket.close());
      }
    });
    // It is not found over HTTP, either.
    await page.route('**/v2/notifications', (route) => (isCut ? route.abort() : route.continue()));
    await page.goto(`${server.url}/#/labs`);
    await page.reload();
    await page.getByText(/live$/).waitFor();
    isCut = true;
    await Promise.all(cuts.map((cut) => cut()));
    await page.getByText('connection lost').waitFor();
    await client.expect(201, 'POST', '/v2/projects', { name: 'made meanwhile' });
    isCut = false;
    await page.getByText(/live$/).waitFor();
    await page.getByRole('link', { name: 'made meanwhile', exact: true }).waitFor();
    t.same(
      complaints.filter((complaint) => !complaint.includes('net::ERR_FAILED')),
      [],
    );
    // The page stays cut off.
    await page.close();
  });

  await t.test('says so when the server has not answered for a minute', async (t) => {
    const { page, complaints } = await browser.open(server, '#/none');
    await page.clock.install();
    const asked = page.waitForRequest('**/v2/projects');
    await page.route('**/v2/projects', () => undefined);
    await page.goto(`${server.url}/#/labs`);
    await page.reload();
    await asked;
    await page.clock.fastForward(61_000);
    await page.getByText('The server has not answered for a minute').waitFor();
    t.same(complaints, []);
    await page.close();
  });

  await t.test('leads to the description of the interface', async (t) => {
    const { page, complaints } = await browser.open(server, '#/labs');
    await page.getByRole('button', { name: 'Account and looks' }).click();
    const opening = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Interface, to read and to try' }).click();
    const description = await opening;
    await description.waitForURL(`${server.url}/docs`, { waitUntil: 'commit' });
    await description.close();
    t.same(complaints, []);
  });

  await t.test('keeps the colours that somebody chose', async (t) => {
    const { page, complaints } = await browser.open(server, '#/labs', { colorScheme: 'light' });
    await page.getByRole('button', { name: 'Account and looks' }).click();
    await page.getByLabel('Colours').selectOption('dark');
    t.same(await hindrances(page), []);
    await page.reload();
    await page.getByRole('table', { name: 'Labs' }).waitFor();
    const colour = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    t.equal(colour, 'rgb(14, 18, 23)');
    t.same(complaints, []);
  });

  await t.test('signs in and out, and never asks for a password by itself', async (t) => {
    await firstAdmin(server);
    const console = await client.request('GET', '/v2/session', undefined, { 'X-Wirefarm-Client': 'console' });
    t.match([console.status, console.headers.get('www-authenticate')], [401, null]);
    const other = await client.request('GET', '/v2/session');
    t.match([other.status, other.headers.get('www-authenticate')], [401, /^Basic/]);
    const { page, complaints } = await browser.open(server, '#/labs');
    await type(page.getByLabel('User'), 'root');
    await type(page.getByLabel('Password'), 'wrong password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    t.same(await hindrances(page), []);
    await type(page.getByLabel('Password'), PASSWORD);
    await page.keyboard.press('Enter');
    await page
      .getByRole('table', { name: 'Labs' })
      .getByRole('link', { name: 'bgp-101', exact: true })
      .waitFor();
    await page.getByText(/live$/).waitFor();
    await page.getByRole('button', { name: 'Account and looks: root' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    t.same(complaints, []);
  });
});

/** Does something by its name in the palette. */
async function run(page: Page, name: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Name of a page, a lab or a command' });
  await type(field, name);
  await page.getByRole('option', { name: new RegExp(name, 'i') }).waitFor();
  await page.keyboard.press('Enter');
}
