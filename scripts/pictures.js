/**
 * Takes the pictures of the README: a server of its own, a lab in which packets pass, and Debian's Chromium. What the tests have
 * for servers, labs and browsers serves here, too. Run it after the console has changed: `node scripts/pictures.js`.
 */
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, URL } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
await import('./build.js');

const support = (name) => import(new URL(`../dist/test/support/${name}.js`, import.meta.url).href);
const { Client } = await support('client');
const { ConsoleBrowser } = await support('console/console-browser');
const { end, LinkLab } = await support('link-lab');
const { SAMPLE_FRAMES } = await support('sample-frames');
const { startServer } = await support('server-process');

const FOLDER = 'docs/pictures';
/** So long packets pass before a picture is taken: rates need two readings. */
const PASSING_MS = 5000;
const PERIOD_MS = 20;
const ETHERNET = 1;

const ends = [];
const t = { teardown: (work) => ends.unshift(work) };

/** A frame of one host to another. */
function frame(from, to, length) {
  const octets = Buffer.alloc(length);
  octets.set([2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x08, 0x00]);
  return octets;
}

async function makeLab(host) {
  const lab = await LinkLab.make(host, { name: 'campus' });
  const node = (name, x, y, symbol = 'ethernet_switch', kind = 'ethernet_switch') =>
    host.client.expect(201, 'POST', `${lab.path}/nodes`, {
      ...{ name, x, y, compute_id: 'local', node_type: kind, symbol: `:/symbols/${symbol}.svg` },
    });
  const core = [await node('CORE-1', -110, -150), await node('CORE-2', 90, -150)];
  const trunk = await lab.link([end(core[0], 0), end(core[1], 0)]);
  const floors = [];
  const uplinks = [];
  for (let floor = 0; floor < 4; floor++) {
    const access = await node(`FLOOR-${floor + 1}`, 190 * floor - 300, 0);
    floors.push(access);
    uplinks.push(await lab.link([end(core[floor >> 1], 1 + (floor & 1)), end(access, 0)]));
    for (const side of [0, 1]) {
      const name = `PC${2 * floor + side + 1}`;
      const pc = await node(name, 190 * floor - 345 + 90 * side, 140, 'vpcs_guest', 'vpcs');
      await lab.link([end(access, 1 + side), end(pc, 0)]);
    }
  }
  const lan = await node('LAB-HUB', 290, -150, 'hub', 'ethernet_hub');
  const spare = await lab.link([end(core[1], 3), end(lan, 0)]);
  await host.client.expect(201, 'PUT', lab.at(trunk), { filters: { delay: [20, 5] } });
  await host.client.expect(201, 'PUT', lab.at(uplinks[3]), { filters: { packet_loss: [1] } });
  await host.client.expect(201, 'PUT', lab.at(spare), { suspend: true });
  await host.client.expect(201, 'POST', `${lab.at(uplinks[0])}/start_capture`, {});
  return { lab, floors, uplink: uplinks[0] };
}

/** Packets between hosts of the floors, at rates of their own, until the end. */
async function letPass(lab, floors) {
  const hosts = [];
  for (const access of floors) hosts.push(await lab.peer(t, access, 5));
  const samples = SAMPLE_FRAMES.filter(({ linkType }) => linkType === ETHERNET).map(({ octets }) => octets);
  let round = 0;
  const timer = setInterval(() => {
    round++;
    hosts.forEach(({ peer, near }, from) => {
      const to = (from + 1) % hosts.length;
      const frames = Array.from({ length: 1 + 3 * from * from }, () =>
        frame(from + 1, to + 1, 200 + 300 * from),
      );
      void peer.send(near, frames).catch(() => undefined);
    });
    const [{ peer, near }] = hosts;
    void peer.send(near, [samples[round % samples.length]]).catch(() => undefined);
  }, PERIOD_MS);
  t.teardown(() => {
    clearInterval(timer);
  });
}

try {
  mkdirSync(FOLDER, { recursive: true });
  const server = await startServer(t);
  const host = { client: new Client(server.url), url: server.url };
  const { lab, floors, uplink } = await makeLab(host);
  await letPass(lab, floors);
  const browser = await ConsoleBrowser.start(t);

  const map = await browser.open(server, `#/labs/${lab.id}`, { colorScheme: 'light' });
  await map.page.getByRole('row').filter({ hasText: 'FLOOR-1' }).first().click();
  await map.page.getByText('CORE-1 – FLOOR-1').last().click();
  await sleep(PASSING_MS);
  await map.page.screenshot({ path: `${FOLDER}/map.png` });
  await map.page.close();

  const address = `#/labs/${lab.id}/packets?links=${uplink.link_id}`;
  const packets = await browser.open(server, address, { colorScheme: 'dark' });
  await packets.page.getByRole('grid', { name: 'Packets' }).getByRole('row').nth(12).waitFor();
  await packets.page.getByRole('searchbox', { name: 'Show' }).fill('ospf || bgp || dns || dhcp || tcp');
  await sleep(PASSING_MS);
  await packets.page.getByRole('grid', { name: 'Packets' }).focus();
  await packets.page.keyboard.press('End');
  await packets.page.getByRole('region', { name: 'Details' }).getByText('Ethernet').first().waitFor();
  await packets.page.screenshot({ path: `${FOLDER}/packets.png` });
} finally {
  for (const work of ends) await work();
}
