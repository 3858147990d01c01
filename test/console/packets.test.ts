/** Live packets in a browser: frames that pass a link are rows, fields and octets there, and a file. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { PcapngStream } from '../../src/dissection/pcapng-stream.js';
import { Client } from '../support/client.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type,
} from '../support/console/console-browser.js';
import { eventually } from '../support/eventually.js';
import { narrowProxy } from '../support/console/narrow-proxy.js';
import { end, LinkLab } from '../support/link-lab.js';
import { SAMPLE_FRAMES } from '../support/sample-frames.js';
import { startServer } from '../support/server-process.js';

const MARKUP = '<b onclick=x>SW</b>';
const ETHERNET = SAMPLE_FRAMES.filter(({ linkType }) => linkType === 1);

void t.test('live packets', { skip: missingConsoleBrowser() }, async (t) => {
  const server = await startServer(t);
  const host = { client: new Client(server.url), url: server.url };
  const lab = await LinkLab.make(host, { name: 'packets' });
  const [near, far] = [await lab.hub('H1'), await lab.hub(MARKUP)];
  const link = await lab.link([end(near, 0), end(far, 0)]);
  await lab.link([end(near, 1), end(far, 1)], { suspend: true });
  const { peer, near: port } = await lab.peer(t, near, 3);
  const browser = await ConsoleBrowser.start(t);
  const { page, complaints } = await browser.open(server, '#/labs');
  const list = page.getByRole('grid', { name: 'Packets' });
  const count = (text: string | RegExp): Promise<void> =>
    page.getByRole('status').filter({ hasText: text }).waitFor();

  await t.test('come as rows, and say what they are', async (t) => {
    await page.keyboard.press('Control+k');
    await type(page.getByRole('combobox'), 'packets of');
    await page.getByRole('option', { name: 'Packets of packets' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Links: all links').waitFor();
    await page.goto(`${server.url}/#/labs/${lab.id}/packets?links=${String(link['link_id'])}`);
    // The stream of the page before is gone with it.
    await page.reload();
    await page.getByText(/^Links: H1–/).waitFor();
    await page.getByText(/● live · held/).waitFor();
    await peer.send(
      port,
      ETHERNET.map(({ octets }) => octets),
    );
    await count(new RegExp(`^${ETHERNET.length}$`));
    const row = list.getByRole('row').filter({ hasText: 'BGP' }).last();
    await row.getByText('notification: cease, 2').waitFor();
    t.match(await row.innerText(), 'H1–');
  });

  await t.test('are filtered, and a wrong filter says where it is wrong', async (t) => {
    const show = page.getByRole('searchbox', { name: 'Show' });
    await type(show, 'arp || text ~ "example.org"');
    await count(`3 of ${ETHERNET.length}`);
    await list.getByRole('row').filter({ hasText: 'who has 10.0.0.2? 10.0.0.1 asks' }).waitFor();
    await type(show, 'arp ||');
    await page.getByRole('alert').filter({ hasText: 'At character 7: a protocol' }).waitFor();
    await count(`3 of ${ETHERNET.length}`);
    await type(show, 'arp');
    await count(`1 of ${ETHERNET.length}`);
    t.pass();
  });

  await t.test('show their fields and octets, which mark each other, by keys alone', async (t) => {
    await list.focus();
    await page.keyboard.press('End');
    const details = page.getByRole('region', { name: 'Details' });
    const field = details.getByRole('button', { name: 'Sender hardware 02:00:00:00:00:01' });
    await field.waitFor();
    await field.focus();
    const marked = page.locator('.packet-octets .hex .marked');
    await marked.nth(5).waitFor();
    t.same(await marked.allInnerTexts(), ['02', '00', '00', '00', '00', '01']);
    await page.locator('.packet-octets .hex [data-at="39"]').click();
    await page.locator('.field.marked').filter({ hasText: 'Target' }).waitFor();
    t.same(await hindrances(page), []);
  });

  await t.test('are saved as they came', async (t) => {
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save what is shown' }).click();
    const file = await (await saving).path();
    const found: string[] = [];
    const stream = new PcapngStream({
      onInterface: () => undefined,
      onPacket: ({ octets, at, end: last }) =>
        found.push(Buffer.from(octets.subarray(at, last)).toString('hex')),
      onLost: () => undefined,
    });
    stream.take(readFileSync(file));
    t.same(
      found,
      ETHERNET.filter(({ name }) => name === 'ARP').map(({ octets }) => octets.toString('hex')),
    );
  });

  await t.test('wait while the view is paused, and none is missed', async (t) => {
    await type(page.getByRole('searchbox', { name: 'Show' }), '');
    await page.getByRole('button', { name: /^Follow/ }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await peer.send(
      port,
      ETHERNET.map(({ octets }) => octets),
    );
    const follow = page.getByRole('button', { name: `Follow (${ETHERNET.length} new)` });
    await follow.waitFor();
    await follow.click();
    await list
      .getByRole('row')
      .filter({ hasText: String(2 * ETHERNET.length) })
      .last()
      .waitFor();
    const rows = await list.getByRole('row').count();
    t.ok(rows > 5 && rows <= 60, `${rows} rows are in the document`);
  });

  await t.test(
    'begin anew with the capture filter of the server, which says what is wrong with one',
    async (t) => {
      const filter = page.getByRole('textbox', { name: 'Capture filter' });
      await type(filter, 'no such word');
      await page.keyboard.press('Enter');
      await page
        .getByRole('alert')
        .filter({ hasText: /syntax error|expression/i })
        .waitFor();
      await type(filter, 'arp');
      await page.keyboard.press('Enter');
      await count(/^0$/);
      await page.getByText(/● live · held/).waitFor();
      await peer.send(
        port,
        ETHERNET.map(({ octets }) => octets),
      );
      await count(/^1$/);
      await page.getByText('Links:').click();
      await page.getByRole('group', { name: 'Links' }).getByRole('checkbox', { name: 'all links' }).check();
      await page.waitForURL(/packets$/);
      await page.getByText(/● live · held/).waitFor();
      t.pass();
    },
  );

  await t.test('are shown in Wireshark by a line that works once, in any shell', async (t) => {
    await page.getByRole('button', { name: 'Open in Wireshark…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Open in Wireshark' });
    const line = await dialog.getByText(/^curl -sN '.*' \| wireshark -k -i -$/).innerText();
    t.match(line, `${server.url}/v2/projects/${lab.id}/pcap?bpf=arp&ticket=`);
    t.same(await hindrances(page), []);
    const script = `wireshark() { head -c 4 | od -An -tx1; echo "got $*"; cat >/dev/null; }; ${line}`;
    const shell = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    let shown = '';
    shell.stdout.on('data', (bytes: Buffer) => (shown += bytes.toString()));
    await eventually('the program is there', () => shown.includes('got -k -i -') || undefined);
    t.match(shown, /0a 0d 0d 0a/);
    // All of them read on until they are ended.
    process.kill(-(shell.pid ?? 0), 'SIGKILL');
    const [, url = ''] = /'(.*)'/.exec(line) ?? [];
    t.equal((await fetch(url)).status, 401, 'once');
    await dialog.getByRole('button', { name: 'New line' }).click();
    await dialog.getByText(line, { exact: true }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
  });

  await t.test('are found from the map by a key', async (t) => {
    await page.goto(`${server.url}/#/labs/${lab.id}`);
    await page.getByRole('row').filter({ hasText: 'H1' }).first().click();
    const inspector = page.getByRole('region', { name: 'Inspector' });
    await inspector
      .getByRole('button', { name: /^H1 – / })
      .first()
      .click();
    await inspector.getByRole('link', { name: 'Packets' }).waitFor();
    await page.keyboard.press('p');
    await page.getByText(/^Links: H1–/).waitFor();
    t.match(page.url(), /packets\?links=/);
  });

  t.same(complaints, []);
  await narrow(page);
  t.same(await hindrances(page), []);

  await t.test('come over HTTP where no WebSocket passes, as do events', async (t) => {
    const proxy = await narrowProxy(t, server.port);
    const beyond = await browser.open(proxy, `#/labs/${lab.id}/packets?links=${String(link['link_id'])}`);
    await beyond.page.getByText(/live over HTTP$/).waitFor();
    await beyond.page.getByText(/● live · held/).waitFor();
    await peer.send(
      port,
      ETHERNET.map(({ octets }) => octets),
    );
    await beyond.page
      .getByRole('status')
      .filter({ hasText: new RegExp(`^${ETHERNET.length}$`) })
      .waitFor();
    await beyond.page.goto(`${proxy.url}/#/labs/${lab.id}`);
    await beyond.page.getByRole('row').filter({ hasText: 'H1' }).first().waitFor();
    await lab.hub('late');
    await beyond.page.getByRole('row').filter({ hasText: 'late' }).waitFor();
    await beyond.page.goto(`${proxy.url}/#/labs`);
    await LinkLab.make(host, { name: 'made later' });
    await beyond.page.getByRole('link', { name: 'made later', exact: true }).waitFor();

    const packets = `${proxy.url}/#/labs/${lab.id}/packets?links=${String(link['link_id'])}`;
    await beyond.page.goto(packets);
    await beyond.page.getByText(/● live · held/).waitFor();
    const passed = proxy.widen();
    await beyond.page
      .getByRole('banner')
      .getByText(/ live$/)
      .waitFor();
    await eventually('a look, and the packets by a socket', () =>
      passed.filter((path) => path.includes('/pcap/ws')).length > 1 ? true : undefined,
    );
    await beyond.page.getByText(/● live · held/).waitFor();
    t.same(
      beyond.complaints.filter((complaint) => !/WebSocket connection to .* failed/.test(complaint)),
      [],
    );
  });
});

async function narrow(page: Page): Promise<void> {
  await page.setViewportSize({ width: 400, height: 800 });
}
