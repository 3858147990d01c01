/** Live packets in a browser: how long a packet takes to its row, and whether a fast flow is held whole. */
import { createSocket } from 'node:dgram';
import { setTimeout as rest } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { call } from '../compute-client.js';
import { figure, median, quantile, type Figure } from '../measurement.js';
import { CaptureLab } from '../traffic/capture-lab.js';
import { ethernet } from '../traffic/setting.js';
import { spray } from '../traffic/spray.js';

const SINGLE_PACKETS = 100;
const APART_MS = 50;
const KEYS_APART_MS = 100;
const RATE = 50_000;
const SECONDS = 10;
const SETTLE_MS = 2000;
const LOOK_EVERY_MS = 500;
/** So many equal looks, one after the other, say that nothing comes any more. */
const CALM_LOOKS = 4;
const { size, sendHeader: header } = ethernet(64).frame;

/** Remembers when the row of each packet was in the document, by the clock of the host. */
const WATCH = `(() => {
  const rows = (globalThis.rowTimes = new Map());
  const grid = document.querySelector('[role=grid]');
  new MutationObserver(() => {
    const now = performance.timeOrigin + performance.now();
    const number = Number(grid.querySelector('[role=row]:last-of-type [role=gridcell]')?.textContent);
    if (!rows.has(number)) rows.set(number, now);
  }).observe(grid, { childList: true, subtree: true, characterData: true });
})()`;

/** Remembers the distances of frames, until it is asked. */
const WATCH_FRAMES = `(() => {
  const gaps = (globalThis.frameGaps = []);
  let last = performance.now();
  const look = (now) => {
    gaps.push(now - last);
    last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()`;

/** Remembers how long each key took until the frame in which the list shows another packet as chosen. */
const WATCH_KEYS = `(() => {
  const delays = (globalThis.keyDelays = []);
  let pressed;
  const grid = document.querySelector('[role=grid]');
  grid.addEventListener('keydown', ({ timeStamp }) => (pressed = timeStamp), true);
  new MutationObserver(() => {
    const at = pressed;
    pressed = undefined;
    if (at === undefined) return;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port2.onmessage = () => delays.push(performance.now() - at);
      port1.postMessage(0);
    });
  }).observe(grid, { attributes: true, attributeFilter: ['aria-activedescendant'] });
  grid.focus();
})()`;

const wallMs = (): number => performance.timeOrigin + performance.now();

export async function packetFlow(page: Page, url: string): Promise<Figure[]> {
  const lab = await CaptureLab.open(url, 1);
  const [link] = lab.links;
  const [project = '', id = ''] = /projects\/([^/]+)\/links\/([^/]+)/.exec(link?.path ?? '')?.slice(1) ?? [];
  await openPackets(page, url, project);
  const delays = await timesToRows(page, lab);
  await openPackets(page, url, project);
  await page.evaluate(WATCH_FRAMES);
  const passed = async (): Promise<number> => {
    const { links } = (await call(`${url}/v2/projects/${project}/traffic`, 'GET')) as {
      links: Record<string, readonly number[]>;
    };
    const [forward = 0, , backward = 0] = links[id] ?? [];
    return forward + backward;
  };
  const before = await passed();
  const sprayed = spray({
    ...{ rate: RATE, segments: 1, seconds: SECONDS, size, header },
    ...{ localPort: lab.peerPort, toPorts: lab.links.map(({ entry }) => entry) },
  });
  const keys = await delaysOfKeys(page);
  await sprayed;
  const frames = (await passed()) - before;
  const { held, lost } = await settled(page);
  const gaps = (await page.evaluate('globalThis.frameGaps')) as number[];
  return [
    figure('from a packet to its row, p50', 'ms', [median(delays)], 'at most 50'),
    figure('from a packet to its row, p99', 'ms', [quantile(delays, 0.99)]),
    figure(`packets of ${RATE}/s that passed the link`, '1/s', [frames / SECONDS]),
    figure('of these, lost by the server, as it says', 'packets', [lost], 'at most 0'),
    figure('of these, lost between the stream and the ring', 'packets', [frames - held - lost], 'at most 0'),
    figure('meanwhile, from a key to the packet that it chooses, p50', 'ms', [median(keys)], 'at most 100'),
    figure(
      'meanwhile, from a key to the packet that it chooses, p99',
      'ms',
      [quantile(keys, 0.99)],
      'at most 100',
    ),
    figure('meanwhile, from frame to frame of the page, p99', 'ms', [quantile(gaps, 0.99)], 'at most 100'),
  ];
}

async function openPackets(page: Page, url: string, project: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${url}/#/labs/${project}/packets`);
  // The state of the stream; the connection of the console has one, too.
  await page
    .getByRole('main')
    .getByText(/● live/)
    .waitFor();
}

/** Chooses one packet and the other, while they pass. */
async function delaysOfKeys(page: Page): Promise<number[]> {
  await page.getByRole('gridcell').first().waitFor();
  await page.evaluate(WATCH_KEYS);
  const presses = ((SECONDS - 2) * 1000) / KEYS_APART_MS;
  for (let press = 0; press < presses; press++) {
    await page.keyboard.press(press % 2 === 0 ? 'ArrowUp' : 'ArrowDown');
    await rest(KEYS_APART_MS);
  }
  const delays = (await page.evaluate('globalThis.keyDelays')) as number[];
  if (delays.length < presses / 2) throw new Error(`${delays.length} of ${presses} keys were seen`);
  return delays;
}

interface Counts {
  readonly held: number;
  readonly lost: number;
}

/** The counts of the page when they change no more. */
async function settled(page: Page): Promise<Counts> {
  let [before, calm] = ['', 0];
  for (;;) {
    const text = (await page.getByRole('status').allInnerTexts()).join('\n');
    calm = text === before ? calm + 1 : 0;
    before = text;
    if (calm === CALM_LOOKS)
      return {
        held: countIn(/^([\d,]+)$/m.exec(text)),
        lost: countIn(/lost ([\d,]+)/.exec(await page.locator('body').innerText())),
      };
    await rest(LOOK_EVERY_MS);
  }
}

/** Packets one by one, each when the row of the one before is there. */
async function timesToRows(page: Page, lab: CaptureLab): Promise<number[]> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => {
    socket.bind(lab.peerPort, '127.0.0.1', resolve);
  });
  const frame = Buffer.concat([Buffer.from(header, 'hex'), Buffer.alloc(size - header.length / 2)]);
  const send = (): void => {
    socket.send(frame, lab.links[0]?.entry ?? 0, '127.0.0.1');
  };
  // The list is in the document from the first packet on.
  send();
  await page.getByRole('gridcell', { name: '1', exact: true }).first().waitFor();
  await page.evaluate(WATCH);
  const sent: number[] = [];
  for (let packet = 0; packet < SINGLE_PACKETS; packet++) {
    sent.push(wallMs());
    send();
    await rest(APART_MS);
  }
  await rest(SETTLE_MS);
  socket.close();
  const rows = new Map<number, number>(await page.evaluate('[...globalThis.rowTimes]'));
  return sent.flatMap((at, packet) => {
    const seen = rows.get(packet + 2);
    return seen === undefined ? [] : [seen - at];
  });
}

function countIn(found: RegExpExecArray | null): number {
  return Number((found?.[1] ?? '0').replaceAll(',', ''));
}
