/** The map of a lab in a browser: outline and canvas, by keyboard and by pointer, and events of others. */
import { setTimeout as rest } from 'node:timers/promises';
import t from 'tap';
import { Client } from '../support/client.js';
import {
  ConsoleBrowser,
  hindrances,
  missingConsoleBrowser,
  type ConsolePage,
} from '../support/console/console-browser.js';
import { eventually } from '../support/eventually.js';
import { end, hubLine, frameOf, LinkLab, type Json } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';
import type { Page } from 'playwright-core';

const server = await startServer(t, { flags: ['--nio-networks', '127.0.0.0/8'] });
const client = new Client(server.url);
const host = { client, url: server.url };

interface OnScreen {
  readonly x: number;
  readonly y: number;
}

/** The place of a node on the screen, from the scene that is public as data. */
async function placeOf(page: Page, name: string): Promise<OnScreen> {
  const script = `(() => {
    const { lab, view } = globalThis.wirefarmMap;
    const index = lab.scene.nodes.findIndex((node) => node.name === ${JSON.stringify(name)});
    return { x: view.toScreenX(lab.scene.x[index]), y: view.toScreenY(lab.scene.y[index]) };
  })()`;
  // The policy of the page lets no function of a test wait in it.
  await eventually('the map has its size', async () =>
    (await page.evaluate('globalThis.wirefarmMap?.view.width > 1')) === true ? true : undefined,
  );
  const { x, y } = (await page.evaluate(script)) as OnScreen;
  const box = await page.getByRole('application').boundingBox();
  return { x: x + (box?.x ?? 0), y: y + (box?.y ?? 0) };
}

/** A picture that does whatever a picture must not. */
const HOSTILE = `<svg width="90" height="60" onload="globalThis.hurt = 1"><script>globalThis.hurt = 2</script>
  <image href="http://127.0.0.1:1/elsewhere.png" width="10" height="10" onerror="globalThis.hurt = 3"/>
  <foreignObject><iframe src="javascript:parent.hurt = 4"></iframe></foreignObject></svg>`;
/** A picture that is more than a few shapes. */
const BADGE = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="globalThis.hurt = 5">
  <path d="M0 40L20 0L40 40z" fill="orange" style="background: url(http://127.0.0.1:1/x)" onclick="hurt = 6"/></svg>`;

/** The middle of a node or a drawing on the screen. */
async function middleOf(page: Page, id: string): Promise<OnScreen> {
  const script = `(() => {
    const { lab, view } = globalThis.wirefarmMap;
    const [x, y] = lab.scene.middleOf(${JSON.stringify(id)});
    return { x: view.toScreenX(x), y: view.toScreenY(y) };
  })()`;
  const { x, y } = (await page.evaluate(script)) as OnScreen;
  const box = await page.getByRole('application').boundingBox();
  return { x: x + (box?.x ?? 0), y: y + (box?.y ?? 0) };
}

const nodesOf = async (lab: LinkLab): Promise<Json[]> =>
  (await client.get(`${lab.path}/nodes`)).body as Json[];

async function openMap(browser: ConsoleBrowser, lab: LinkLab): Promise<ConsolePage> {
  const opened = await browser.open(server, `#/labs/${lab.id}`);
  await opened.page.getByRole('treegrid', { name: 'Outline' }).waitFor();
  return opened;
}

void t.test('a browser', { skip: missingConsoleBrowser() }, async (t) => {
  const browser = await ConsoleBrowser.start(t);

  await t.test('a lab is made, wired, filtered and undone by keyboard alone', async (t) => {
    const lab = await LinkLab.make(host);
    const { page, complaints } = await openMap(browser, lab);
    for (const count of [1, 2]) {
      await page.keyboard.press('a');
      await page.getByRole('textbox', { name: 'Kind of node' }).fill('Ethernet hub');
      await page.getByRole('option', { name: 'Ethernet hub' }).waitFor({ state: 'attached' });
      await page.keyboard.press('Enter');
      await page
        .getByRole('row')
        .nth(count - 1)
        .waitFor();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.keyboard.press('l');
    await page.getByRole('combobox', { name: 'To', exact: true }).waitFor();
    const add = page.getByRole('dialog').getByRole('button', { name: 'Link', exact: true });
    await eventually('both ports are chosen', async () => ((await add.isEnabled()) ? true : undefined));
    await page.keyboard.press('Enter');
    const links = await eventually('the link', async () => {
      const list = await lab.list();
      return list.length === 1 ? list : undefined;
    });
    await page.getByRole('heading', { name: /^Hub/ }).first().waitFor();
    const form = page.getByRole('form', { name: 'Filters' });
    await form.getByRole('spinbutton', { name: 'Delay: Latency' }).first().fill('20');
    await form.getByRole('button', { name: 'Apply' }).press('Enter');
    await eventually('the filter', async () => {
      const { forward } = await client.expect(200, 'GET', `${lab.at(links[0] ?? {})}/directed_filters`);
      return (forward as Json)['delay'] === undefined ? undefined : true;
    });
    await page.getByText('2 nodes, 1 link').waitFor();
    await page.keyboard.press('Control+z');
    await eventually('the filter is undone', async () => {
      const { forward } = await client.expect(200, 'GET', `${lab.at(links[0] ?? {})}/directed_filters`);
      return (forward as Json)['delay'] === undefined ? true : undefined;
    });
    await page.keyboard.press('Control+z');
    await eventually('the link is undone', async () => ((await lab.list()).length === 0 ? true : undefined));
    await page.keyboard.press('Control+z');
    await eventually('the node is undone', async () =>
      (await nodesOf(lab)).length === 1 ? true : undefined,
    );
    await page.keyboard.press('Control+Shift+z');
    await eventually('the node is there again', async () =>
      (await nodesOf(lab)).length === 2 ? true : undefined,
    );
    t.same(complaints, []);
  });

  await t.test(
    'a large map is shown from a picture while it moves, and as it is when it rests',
    async (t) => {
      const lab = await LinkLab.make(host);
      const create = Array.from({ length: 300 }, (_, index) => ({
        ...{ name: `n${index}`, node_type: 'ethernet_hub', compute_id: 'local' },
        ...{ x: 110 * (index % 20), y: 110 * Math.floor(index / 20) },
      }));
      for (const part of [create.slice(0, 200), create.slice(200)])
        await client.expect(200, 'POST', `${lab.path}/nodes/batch`, { create: part });
      const { page, complaints } = await openMap(browser, lab);
      await placeOf(page, 'n0');
      const picture = `document.querySelector('[role=application]').toDataURL()`;
      const frames = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
      const turned = `document.querySelector('[role=application]').dispatchEvent(
      new WheelEvent('wheel', { shiftKey: true, cancelable: true }))`;
      /** Looks elsewhere, as the wheel does; resolves to the picture of the next frame. */
      const looked = async (view: string): Promise<string> => {
        const script = `(Object.assign(globalThis.wirefarmMap.view, ${view}), ${turned}, ${frames}.then(() => ${picture}))`;
        return (await page.evaluate(script)) as string;
      };
      /** The picture of this view when something in the lab has changed: nothing is moved then. */
      const painted = async (view: string): Promise<string> => {
        const shown = 'globalThis.wirefarmMap.lab';
        const script = `(Object.assign(globalThis.wirefarmMap.view, ${view}), ${shown}.scene.revision++,
        ${shown}.revision.value++, ${frames}.then(() => ${picture}))`;
        return (await page.evaluate(script)) as string;
      };
      const [near, nearer, aside] = ['{ x: 900, y: 700, zoom: 0.5 }', '{ zoom: 0.7 }', '{ x: 940 }'];
      await eventually('all symbols are there', async () => {
        const before = await painted(near);
        return (await painted(near)) === before || undefined;
      });
      const wanted = await painted(nearer);
      await painted(near);
      t.not(await looked(nearer), wanted, 'it is a picture that was scaled');
      await eventually(
        'it is as it was painted',
        async () => (await page.evaluate(picture)) === wanted || undefined,
      );
      await painted(near);
      const pixels = (x: number): string => `(() => {
      const part = Object.assign(document.createElement('canvas'), { width: 80, height: 60 });
      part.getContext('2d').drawImage(document.querySelector('[role=application]'), -${x}, -150);
      return part.toDataURL();
    })()`;
      const before = await page.evaluate(pixels(200));
      await looked(aside);
      t.equal(await page.evaluate(pixels(180)), before, 'so many pixels aside');
      t.same(complaints, []);
    },
  );

  await t.test('nodes are moved by the pointer in one call, taken back, and seen by others', async (t) => {
    const lab = await LinkLab.make(host);
    const made = [];
    for (const [index, name] of ['left', 'right', 'far'].entries()) {
      const node = await lab.hub(name);
      made.push(node);
      await client.expect(200, 'PUT', `${lab.path}/nodes/${String(node['node_id'])}`, {
        x: 200 * index,
        y: 0,
      });
    }
    await lab.link([end(made[0] ?? {}, 0), end(made[1] ?? {}, 0)]);
    const [{ page, complaints }, other] = [await openMap(browser, lab), await openMap(browser, lab)];
    const batches: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') batches.push(request.postData() ?? '');
    });
    const [left, right] = [await placeOf(page, 'left'), await placeOf(page, 'right')];
    await page.mouse.click(left.x, left.y);
    await page.keyboard.down('Control');
    await page.mouse.click(right.x, right.y);
    await page.keyboard.up('Control');
    await page.getByRole('heading', { name: '2 selected' }).waitFor();
    await page.mouse.move(left.x, left.y);
    await page.mouse.down();
    await page.mouse.move(left.x + 20, left.y + 30);
    await page.mouse.move(left.x + 40, left.y + 60);
    await page.mouse.up();
    const moved = await eventually('both have moved', async () => {
      const nodes = await nodesOf(lab);
      return nodes[0]?.['y'] !== 0 && nodes[1]?.['y'] !== 0 ? nodes : undefined;
    });
    // The browser may tell of it later than the server does it.
    await eventually('the request is told', () => batches.length > 0 || undefined);
    t.equal(batches.length, 1, 'one request');
    t.equal(moved[0]?.['y'], moved[1]?.['y']);
    t.equal(moved[2]?.['y'], 0);
    const seen = `globalThis.wirefarmMap?.lab.scene.nodes.find(({ name }) => name === 'left').y`;
    await eventually('the other page sees it', async () =>
      (await other.page.evaluate(seen)) === moved[0]?.['y'] ? true : undefined,
    );
    await page.keyboard.press('Control+z');
    await eventually('they are back', async () => ((await nodesOf(lab))[0]?.['y'] === 0 ? true : undefined));
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Arrange' }).click();
    await eventually('one request more', () => Promise.resolve(batches[2]));
    t.equal((JSON.parse(batches[2] ?? '') as { update: unknown[] }).update.length, 3, 'all of them');
    await page.getByRole('button', { name: 'Undo' }).and(page.getByTitle('3 arranged')).waitFor();
    await page.getByRole('application').press('Control+z');
    await eventually('they are back again', async () =>
      (await nodesOf(lab))[0]?.['y'] === 0 ? true : undefined,
    );
    await page.getByText('Layers').first().click();
    await page.getByRole('checkbox', { name: 'Grid' }).check();
    await page.getByRole('checkbox', { name: 'Whole lab in the corner' }).uncheck();
    await page.reload();
    await page.getByText('Layers').first().click();
    t.equal(await page.getByRole('checkbox', { name: 'Grid' }).isChecked(), true, 'the browser keeps layers');
    t.same([...complaints, ...other.complaints], []);
  });

  await t.test(
    'the traffic, the state and the filters of a link are told, and a closed lab says so',
    async (t) => {
      const line = await hubLine(t, host);
      const [near, far] = [String(line.near['name']), String(line.far['name'])];
      const { page, complaints } = await openMap(browser, line.lab);
      await page.getByRole('row', { name: new RegExp(near) }).focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowDown');
      await page.getByRole('heading', { name: `${near} 0/0 – ${far} 0/0` }).waitFor();
      let sent = 0;
      const rates = page.getByRole('row', { name: `→ ${far}` });
      await eventually('a rate', async () => {
        await line.pass([frameOf(1), frameOf(2)], (sent += 2));
        await rest(300);
        return /0\/0\s+0\s/.test(await rates.innerText()) ? undefined : true;
      });
      const latency = page.getByRole('spinbutton', { name: 'Delay: Latency' }).first();
      for (const forward of [{ delay: [30] }, {}]) {
        await client.expect(200, 'PUT', `${line.at}/directed_filters`, { forward, backward: {} });
        await eventually('the filter of another client', async () =>
          (await latency.inputValue()) === ('delay' in forward ? '30' : '') ? true : undefined,
        );
      }
      const loss = { packet_loss: [100] };
      await client.expect(200, 'PUT', `${line.at}/directed_filters`, {
        forward: loss,
        backward: { delay: [1] },
      });
      const hits = page.getByRole('row', { name: /^Loss [1-9]\d* 0$/ });
      await eventually('hits of the filter', async () => {
        await line.pass([frameOf(3)], sent);
        return (await hits.count()) > 0 || undefined;
      });
      const { forward, backward } = await client.expect(200, 'GET', `${line.at}/filter_hits`);
      t.match(
        [forward, backward],
        [
          { delay: 0, corrupt: 0 },
          { packet_loss: 0, delay: 0 },
        ],
      );
      t.ok(Number((forward as Json)['packet_loss']) > 0);
      await client.expect(200, 'PUT', `${line.at}/directed_filters`, { forward: {}, backward: {} });
      await client.expect(201, 'PUT', line.at, { suspend: true });
      await page.getByText('✖ suspended').waitFor();
      await page.getByRole('button', { name: 'Resume' }).click();
      await eventually('the link is resumed', async () =>
        (await client.expect(200, 'GET', line.at))['suspend'] === false ? true : undefined,
      );
      await client.expect(204, 'POST', `${line.lab.path}/close`);
      await page.getByText('This lab is closed.').waitFor();
      await page.getByRole('button', { name: 'Open the lab' }).click();
      await page.getByRole('treegrid', { name: 'Outline' }).waitFor();
      t.same(complaints, []);
    },
  );

  await t.test(
    'notes and figures are drawn, moved, changed, deleted and undone, and seen by others',
    async (t) => {
      const lab = await LinkLab.make(host);
      await client.expect(201, 'POST', `${lab.path}/drawings`, { svg: HOSTILE, x: 0, y: 0 });
      await client.expect(201, 'POST', `${lab.path}/drawings`, { svg: BADGE, x: 150, y: 0, locked: true });
      const drawn = async (): Promise<Json[]> => (await client.get(`${lab.path}/drawings`)).body as Json[];
      const [{ page, complaints }, other] = [await openMap(browser, lab), await openMap(browser, lab)];
      await page.keyboard.press('n');
      const dialog = page.getByRole('dialog', { name: 'Draw' });
      await dialog.getByRole('combobox', { name: 'Shape' }).selectOption('Note');
      await dialog.getByRole('textbox', { name: 'Text' }).fill('Site A\n<b>north</b>');
      await dialog.getByRole('button', { name: 'Draw' }).click();
      await other.page.getByRole('row', { name: 'Note: Site A layer 2' }).waitFor();
      await page.getByRole('heading', { name: 'Note: Site A' }).waitFor();
      const noteNow = async (): Promise<Json | undefined> =>
        (await drawn()).find(({ svg }) => String(svg).includes('north'));
      t.match((await noteNow())?.['svg'], /<text .*>Site A\n&lt;b&gt;north&lt;\/b&gt;<\/text>/);
      const before = Number((await noteNow())?.['x']);
      const place = await middleOf(page, String((await noteNow())?.['drawing_id']));
      await page.mouse.move(place.x, place.y);
      await page.mouse.down();
      await page.mouse.move(place.x + 30, place.y + 20);
      await page.mouse.move(place.x + 60, place.y + 40);
      await page.mouse.up();
      await eventually('it has moved', async () => Number((await noteNow())?.['x']) > before || undefined);
      await page.getByRole('application').press('F2');
      const editing = page.getByRole('dialog', { name: 'Note: Site A' });
      await editing.getByRole('textbox', { name: 'Text' }).fill('Site north');
      await editing.getByRole('spinbutton', { name: /^Layer/ }).fill('5');
      await editing.getByRole('button', { name: 'Edit' }).click();
      await other.page.getByRole('row', { name: 'Note: Site north layer 5' }).waitFor();
      await page.getByRole('row', { name: /^Note: Site north/ }).focus();
      await page.keyboard.press('Delete');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await other.page.getByRole('row', { name: /^Note/ }).waitFor({ state: 'detached' });
      for (const words of ['Site north layer 5', 'Site A layer 2']) {
        await page.getByRole('button', { name: 'Undo' }).click();
        await other.page.getByRole('row', { name: `Note: ${words}` }).waitFor();
      }
      await page.getByRole('button', { name: 'Undo' }).click();
      await eventually('it is back', async () => Number((await noteNow())?.['x']) === before || undefined);
      await page.getByRole('application').press('n');
      await dialog.getByRole('combobox', { name: 'Shape' }).selectOption('Rectangle');
      await dialog.getByRole('button', { name: 'Draw' }).click();
      await page.getByRole('heading', { name: 'Rectangle' }).waitFor();
      const rect = async (): Promise<Json> =>
        (await drawn()).find(({ svg }) => String(svg).includes('<rect')) ?? {};
      const sizes = async (): Promise<string> =>
        /width="(\d+)" height="(\d+)"/.exec(String((await rect())['svg']))?.[0] ?? '';
      const usual = await eventually('the rectangle', async () => (await sizes()) || undefined);
      const middle = await middleOf(page, String((await rect())['drawing_id']));
      const zoom = Number(await page.evaluate('globalThis.wirefarmMap.view.zoom'));
      const grip = { x: middle.x + 100 * zoom, y: middle.y + 60 * zoom };
      await page.mouse.move(grip.x, grip.y);
      await page.mouse.down();
      await page.mouse.move(grip.x + 25 * zoom, grip.y + 15 * zoom);
      await page.mouse.move(grip.x + 50 * zoom, grip.y + 30 * zoom);
      await page.mouse.up();
      await eventually(
        'it is larger',
        async () => (await sizes()) === 'width="250" height="150"' || undefined,
      );
      await page.getByRole('application').press('F2');
      await page.getByRole('dialog', { name: 'Rectangle' }).getByLabel('Width').fill('300');
      await page.keyboard.press('Enter');
      await eventually(
        'it is wider',
        async () => (await sizes()) === 'width="300" height="150"' || undefined,
      );
      for (const size of ['width="250" height="150"', usual]) {
        await page.getByRole('button', { name: 'Undo' }).click();
        await eventually('it is as it was', async () => (await sizes()) === size || undefined);
      }
      await page.getByRole('row', { name: 'Picture locked, layer 2' }).click();
      await page.getByRole('button', { name: 'Edit' }).click();
      t.same(await hindrances(page), []);
      await page.getByRole('checkbox', { name: /^Locked/ }).uncheck();
      await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('row', { name: 'Picture layer 2' }).first().waitFor();
      t.equal(await page.evaluate('globalThis.hurt'), undefined, 'nothing of a picture has run');
      t.same([...complaints, ...other.complaints], []);
    },
  );

  await t.test('the map hinders nobody, wide and narrow, light and dark', async (t) => {
    const line = await hubLine(t, host);
    for (const viewport of [
      { width: 1280, height: 720 },
      { width: 400, height: 800 },
    ]) {
      const { page, complaints } = await browser.open(server, `#/labs/${line.lab.id}`, { viewport });
      await page.getByRole('row', { name: String(line.near['name']) }).click();
      await page.getByRole('heading', { name: String(line.near['name']), exact: true }).waitFor();
      t.same(await hindrances(page), []);
      t.same(complaints, []);
    }
  });
});
