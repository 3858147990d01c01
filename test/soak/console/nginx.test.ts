/** Browsers behind nginx with the site of the documents, over TLS, by its name and by addresses, at a port of its own. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { selfSigned } from '../../../src/cli/self-signed.js';
import { firstAdmin, PASSWORD } from '../../support/accounts.js';
import { ConsoleBrowser, missingConsoleBrowser, type } from '../../support/console/console-browser.js';
import { Firefox, missingFirefox } from '../../support/console/firefox.js';
import { eventually } from '../../support/eventually.js';
import { end, LinkLab } from '../../support/link-lab.js';
import { SITE_NAME, startNginx } from '../../support/nginx.js';
import { NodeLab } from '../../support/node-lab.js';
import { SAMPLE_FRAMES } from '../../support/sample-frames.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { missingVpcs } from '../../support/vpcs.js';

/** No host of this network has it: the browser finds nginx there nevertheless. */
const ADDRESS = '192.0.2.7';
const FLAGS = [`--host-resolver-rules=MAP ${SITE_NAME} 127.0.0.1, MAP ${ADDRESS} 127.0.0.1`];
const SIZE = 3_000_000;
const FRAMES = SAMPLE_FRAMES.filter(({ linkType }) => linkType === 1).map(({ octets }) => octets);

/** The numbers of frames that have come over each WebSocket of the page, by the last part of its path. */
function framesOf(page: Page): Map<string, number> {
  const counts = new Map<string, number>();
  page.on('websocket', (socket) => {
    const name = new URL(socket.url()).pathname.split('/').slice(-2).join('/');
    socket.on('framereceived', () => counts.set(name, (counts.get(name) ?? 0) + 1));
  });
  return counts;
}

void t.test('behind nginx', { skip: missingConsoleBrowser() || missingVpcs() }, async (t) => {
  const server = await startServer(t, {
    flags: ['--open', '--public-url', `https://${SITE_NAME}`, '--trusted-proxies', '127.0.0.1'],
  });
  const port = await startNginx(t, server, selfSigned([SITE_NAME], new Date()));
  const nodes = await NodeLab.left('campus', server);
  const pc = await nodes.pc('PC1', '10.0.0.1');
  const client = await firstAdmin(server);
  const lab = new LinkLab({ client, url: server.url }, nodes.id);
  const [near, far] = [await lab.hub('H1'), await lab.hub('H2')];
  await lab.link([end(near, 0), end(far, 0)]);
  const { peer, near: from } = await lab.peer(t, near, 3);
  const browser = await ConsoleBrowser.start(t, FLAGS);
  const image = join(scratchFolder(t), 'vios.qcow2');
  writeFileSync(image, Buffer.alloc(SIZE, 'vios'));

  for (const host of [SITE_NAME, ADDRESS, '127.0.0.1'])
    await t.test(`Chromium at ${host}`, async (t) => {
      const url = `https://${host}:${port}`;
      const { page, complaints } = await browser.open({ url }, '#/labs', { ignoreHTTPSErrors: true });
      const frames = framesOf(page);
      await type(page.getByLabel('User'), 'root');
      await type(page.getByLabel('Password'), PASSWORD);
      await page.keyboard.press('Enter');
      await page
        .getByRole('table', { name: 'Labs' })
        .getByRole('link', { name: 'campus', exact: true })
        .click();
      await page.getByRole('application', { name: 'Map of campus' }).waitFor();
      await page.getByText('● live', { exact: true }).waitFor();
      await eventually('rates come', () => (frames.get('traffic/ws') ?? 0) > 2 || undefined);

      await page.goto(`${url}/#/labs/${lab.id}/packets`);
      await page.getByText(/● live · held/).waitFor();
      await peer.send(from, FRAMES);
      await page.getByRole('grid', { name: 'Packets' }).getByText('notification: cease, 2').last().waitFor();

      await page.goto(`${url}/#/images`);
      await page.getByText('There is no image of this emulator yet.').waitFor();
      await page.getByLabel('Upload files').setInputFiles(image);
      await page.getByRole('region', { name: 'Uploads' }).getByText('finished').waitFor();
      const wanted = [{ filename: 'vios.qcow2', filesize: SIZE }];
      t.match((await client.get('/v2/compute/qemu/images')).body, wanted);
      await page.getByRole('button', { name: 'Delete vios.qcow2' }).click();
      await type(page.getByLabel('Type the name'), 'vios.qcow2');
      await page.keyboard.press('Enter');
      await page.getByText('There is no image of this emulator yet.').waitFor();

      await page.goto(`${url}/terminal.html?lab=${lab.id}&node=${String(pc['node_id'])}`);
      const input = page.getByRole('textbox', { name: /^Console of/ });
      const lines = page.getByRole('listitem');
      await lines.filter({ hasText: /^PC1>/ }).last().waitFor();
      await input.focus();
      await page.keyboard.type(`echo at ${host}\n`);
      await lines
        .filter({ hasText: `at ${host}` })
        .last()
        .waitFor();
      t.same(complaints, []);
    });

  for (const host of [SITE_NAME, '127.0.0.1'])
    await t.test(`Firefox at ${host}`, { skip: missingFirefox() }, async (t) => {
      const url = `https://${host}:${port}`;
      const firefox = await Firefox.open(t, url);
      await firefox.fill('User', 'root');
      await firefox.fill('Password', PASSWORD);
      await firefox.click(['button', 'Sign in']);
      await firefox.meet('navigation', 'Menu');
      await firefox.go(`${url}/#/labs/${lab.id}/packets`);
      await firefox.read('● live · held');
      await peer.send(from, FRAMES);
      await firefox.read('notification: cease, 2');
      await firefox.go(`${url}/terminal.html?lab=${lab.id}&node=${String(pc['node_id'])}`);
      await firefox.read('PC1>');
      await firefox.click({ x: 640, y: 300 });
      await firefox.type('show ip\uE007');
      await firefox.read('10.0.0.1/24');
      t.same(firefox.complaints, []);
    });
});
