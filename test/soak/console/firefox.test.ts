/** Firefox ESR with the console: signing in, overview, map, filters, packets and a terminal, under the strict policy. */
import t from 'tap';
import { firstAdmin, PASSWORD } from '../../support/accounts.js';
import { Firefox, missingFirefox } from '../../support/console/firefox.js';
import { eventually } from '../../support/eventually.js';
import { end, LinkLab } from '../../support/link-lab.js';
import { NodeLab } from '../../support/node-lab.js';
import { SAMPLE_FRAMES } from '../../support/sample-frames.js';
import { startServer } from '../../support/server-process.js';
import { missingVpcs } from '../../support/vpcs.js';

const SCHEMES = ['light', 'dark'] as const;
const FRAMES = SAMPLE_FRAMES.filter(({ linkType }) => linkType === 1).map(({ octets }) => octets);
/** How many colours the canvas has around the node of this name. */
const COLOURS = `((name) => {
  const { lab, view } = globalThis.wirefarmMap;
  const node = lab.scene.nodes.findIndex((known) => known.name === name);
  const canvas = document.querySelector('canvas');
  const scale = canvas.width / canvas.clientWidth;
  const [x, y] = [view.toScreenX(lab.scene.x[node]), view.toScreenY(lab.scene.y[node])];
  const side = 40;
  const { data } = canvas.getContext('2d').getImageData((x - side / 2) * scale, (y - side / 2) * scale, side, side);
  const colours = new Set(new Uint32Array(data.buffer));
  const { left, top } = canvas.getBoundingClientRect();
  return JSON.stringify({ x: x + left, y: y + top, colours: colours.size });
})`;

interface Seen {
  readonly x: number;
  readonly y: number;
  readonly colours: number;
}

void t.test('Firefox', { skip: missingFirefox() || missingVpcs() }, async (t) => {
  const server = await startServer(t);
  const nodes = await NodeLab.left('campus', server);
  const pc = await nodes.pc('PC1', '10.0.0.1');
  const client = await firstAdmin(server);
  const lab = new LinkLab({ client, url: server.url }, nodes.id);
  const [near, far] = [await lab.hub('H1'), await lab.hub('H2')];
  for (const [index, node] of [pc, near, far].entries())
    await client.expect(200, 'PUT', `${lab.path}/nodes/${String(node['node_id'])}`, { x: 200 * index, y: 0 });
  const link = await lab.link([end(near, 0), end(far, 0)]);
  const { peer, near: port } = await lab.peer(t, near, 3);
  const firefox = await Firefox.open(t, server.url);
  const drawn = (name: string): Promise<Seen> =>
    eventually(`${name} is drawn`, async () => {
      const isThere = await firefox.evaluate('globalThis.wirefarmMap?.view.width > 1');
      if (isThere !== true) return undefined;
      const seen = JSON.parse(String(await firefox.evaluate(`${COLOURS}(${JSON.stringify(name)})`))) as Seen;
      return seen.colours > 2 ? seen : undefined;
    });

  await t.test('signs in, and shows the overview', async (t) => {
    await firefox.fill('User', 'root');
    await firefox.fill('Password', PASSWORD);
    await firefox.click(['button', 'Sign in']);
    await firefox.meet('navigation', 'Menu');
    await firefox.go(`${server.url}/#/`);
    await firefox.meet('heading', 'Dashboard');
    t.pass();
  });

  for (const scheme of SCHEMES)
    await t.test(`draws the map on ${scheme} ground, and selects what is clicked`, async (t) => {
      await firefox.click(['button', 'Account and looks: root']);
      await firefox.fill('Colours', scheme);
      await firefox.click(['button', 'Account and looks: root']);
      await firefox.go(`${server.url}/#/labs/${lab.id}`);
      await firefox.meet('treegrid', 'Outline');
      const ground = await firefox.evaluate('getComputedStyle(document.body).backgroundColor');
      t.equal(ground === 'rgb(14, 18, 23)', scheme === 'dark');
      for (const name of ['PC1', 'H1', 'H2']) {
        await firefox.click(await drawn(name));
        await firefox.meet('heading', name);
      }
      await firefox.go(`${server.url}/#/`);
      await firefox.meet('heading', 'Dashboard');
    });

  await t.test('sets a delay, which the server has, and undoes it', async (t) => {
    await firefox.go(`${server.url}/#/labs/${lab.id}`);
    const [left, right] = [await drawn('H1'), await drawn('H2')];
    await firefox.click({ x: (left.x + right.x) / 2, y: left.y });
    await firefox.meet('heading', 'H1 0/0 – H2 0/0');
    const delay = async (): Promise<unknown> => {
      const { forward } = await client.expect(200, 'GET', `${lab.at(link)}/directed_filters`);
      return (forward as { delay?: number[] }).delay?.[0];
    };
    await firefox.fill('Delay: Latency ms', '20');
    await firefox.click(['button', 'Apply']);
    await eventually('the delay', async () => (await delay()) === 20 || undefined);
    await firefox.click(['button', 'Undo']);
    await eventually('no delay', async () => (await delay()) === undefined || undefined);
    t.pass();
  });

  await t.test('shows live packets as rows', async (t) => {
    await firefox.click(['link', 'Packets']);
    await firefox.read('● live · held');
    await peer.send(port, FRAMES);
    await firefox.read('notification: cease, 2');
    await firefox.fill('Show', 'arp');
    await firefox.read(`1 of ${FRAMES.length}`);
    t.pass();
  });

  await t.test('shows a console in a tile, and in a window of its own takes what is typed', async (t) => {
    const node = String(pc['node_id']);
    const shown = (terminal: string, words: string): Promise<unknown> =>
      eventually(
        `the terminal shows ${words}`,
        async () =>
          String(await firefox.evaluate(`${terminal}?.document.body?.innerText`)).includes(words) ||
          undefined,
      );
    await firefox.go(`${server.url}/#/labs/${lab.id}/consoles?nodes=${node}`);
    await shown('frames[0]', 'PC1>');
    await firefox.go(`${server.url}/terminal.html?lab=${lab.id}&node=${node}`);
    await shown('globalThis', 'PC1>');
    await firefox.click({ x: 640, y: 300 });
    await firefox.type('show ip\uE007');
    await shown('globalThis', '10.0.0.1/24');
    t.pass();
  });

  t.same(firefox.complaints, []);
});
