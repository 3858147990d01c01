/**
 * The map of a large lab in a browser, moved as people move it while the rates of all links change every second; and the
 * same picture as SVG, moved by the transform of its outermost element.
 */
import type { Browser, Page } from 'playwright-core';
import { figure, quantile, type Figure } from '../measurement.js';
import { framesOf, type Frames } from './frames.js';

const ROUNDS = 3;
const SECONDS = 3;
const VIEWPORT = { width: 1280, height: 720 };
const SCRIPT_AIM = 'at most 4';

/** Every frame has an event, as from a wheel that turns. */
const TURN = `new Promise((done) => {
  const until = performance.now() + ${1000 * SECONDS};
  let turn = 0;
  const step = () => {
    if (performance.now() > until) return done();
    move(turn++);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

/** Counts of all links, as the server sends them: each has passed something else than in the second before. */
const RATES = `globalThis.countRates ??= (() => {
  const { lab } = globalThis.wirefarmMap;
  const { links } = lab.scene;
  lab.counts.number({ links: Object.fromEntries(links.map(({ id }, index) => [id, index])), removed: [] });
  const counts = new Float64Array(1 + 7 * links.length);
  setInterval(() => {
    counts[0] += 1000;
    for (let link = 0; link < links.length; link++) {
      const at = 1 + 7 * link;
      counts[at] = link;
      for (let column = 1; column <= 4; column++) counts[at + column] += Math.random() * 10 ** (link % 6);
    }
    lab.counts.take(counts.slice().buffer);
    lab.rateRevision.value++;
  }, 1000);
})()`;

/** Wheels of the pointer: to the side they pan, otherwise they zoom. */
const wheel = (event: string): string => `{
  const canvas = document.querySelector('[role=application]');
  const move = (turn) => canvas.dispatchEvent(new WheelEvent('wheel', ${event}));
  ${TURN}
}`;

const CANVAS = {
  whole: `globalThis.wirefarmMap.view.fit(globalThis.wirefarmMap.lab.scene.bounds());`,
  near: `Object.assign(globalThis.wirefarmMap.view, { zoom: 0.5 });`,
  pan: wheel('{ deltaY: turn % 80 < 40 ? 12 : -12, shiftKey: true, cancelable: true }'),
  zoom: wheel(
    '{ deltaY: turn % 60 < 30 ? -40 : 40, clientX: 700, clientY: 400, bubbles: true, cancelable: true }',
  ),
};

/** Resolves when the map is there, and has been painted. */
const SHOWN = `new Promise((done) => {
  const look = () => requestAnimationFrame(globalThis.wirefarmMap?.lab.scene.links.length > 0 ? () => requestAnimationFrame(done) : look);
  look();
})`;

/** The picture of the scene as a document of SVG, with the same symbols as data. */
const DRAWING = `(async () => {
  const { scene } = globalThis.wirefarmMap.lab;
  const symbols = {};
  for (const { symbol } of scene.nodes) {
    symbols[symbol] ??= await (await fetch('v2/symbols/' + encodeURIComponent(symbol) + '/raw')).text();
  }
  const nodes = scene.nodes.map(({ name, symbol, x, y, width, height }) => ({ name, symbol, x, y, width, height }));
  const links = scene.links.map((_, link) => [scene.first[link], scene.second[link]].map((node) => [scene.x[node], scene.y[node]]));
  return { nodes, links, symbols, bounds: scene.bounds() };
})()`;

/** Makes the document, and what moves it; called with the drawing. */
const SVG = `(({ nodes, links, symbols, bounds }) => {
  const space = 'http://www.w3.org/2000/svg';
  const make = (name, given, parent) => {
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };
  document.body.style.margin = '0';
  const svg = make('svg', { width: innerWidth, height: innerHeight }, document.body);
  const all = make('g', {}, svg);
  const lines = links.map(([[x1, y1], [x2, y2]]) => make('line', { x1, y1, x2, y2, stroke: '#555' }, all));
  for (const { name, symbol, x, y, width, height } of nodes) {
    make('image', { href: 'data:image/svg+xml,' + encodeURIComponent(symbols[symbol]), x, y, width, height }, all);
    make('text', { x: x + width / 2, y: y + height + 14, 'text-anchor': 'middle', 'font-size': 12 }, all).textContent = name;
  }
  const [left, top, right, bottom] = bounds;
  const whole = Math.min(innerWidth / (right - left), innerHeight / (bottom - top));
  const view = { x: (left + right) / 2, y: (top + bottom) / 2, zoom: whole };
  const show = () => {
    const { x, y, zoom } = view;
    all.setAttribute('transform', \`translate(\${innerWidth / 2 - x * zoom} \${innerHeight / 2 - y * zoom}) scale(\${zoom})\`);
  };
  show();
  setInterval(() => {
    for (const [index, line] of lines.entries()) line.setAttribute('stroke-width', 1 + Math.random() * (index % 6));
  }, 1000);
  globalThis.drawing = {
    view, whole, show,
    pan: (turn) => { view.x += (turn % 80 < 40 ? 12 : -12) / view.zoom; show(); },
    zoom: (turn) => { view.zoom *= Math.exp(turn % 60 < 30 ? 0.06 : -0.06); show(); },
  };
})`;

const drawn = (motion: 'pan' | 'zoom'): string => `{ const move = globalThis.drawing.${motion}; ${TURN} }`;
const drawnAt = (zoom: string): string => `globalThis.drawing.view.zoom = ${zoom};`;

const MOTIONS = [
  {
    name: 'panned as a whole',
    canvas: CANVAS.whole + CANVAS.pan,
    svg: drawnAt('globalThis.drawing.whole') + drawn('pan'),
  },
  { name: 'panned with names', canvas: CANVAS.near + CANVAS.pan, svg: drawnAt('0.5') + drawn('pan') },
  {
    name: 'zoomed',
    canvas: CANVAS.whole + CANVAS.zoom,
    svg: drawnAt('globalThis.drawing.whole') + drawn('zoom'),
  },
] as const;

/** The map stays on the page, at the lab. */
export async function openMap(page: Page, url: string, id: string): Promise<void> {
  await page.setViewportSize(VIEWPORT);
  await page.goto(`${url}/#/labs/${id}`);
  await page.evaluate(SHOWN);
}

/** Page and picture are moved in turn. */
export async function mapFrames(browser: Browser, page: Page, count: number): Promise<Figure[]> {
  await page.evaluate(RATES);
  const drawing = await page.context().newPage();
  await drawing.setViewportSize(VIEWPORT);
  const picture: unknown = await page.evaluate(DRAWING);
  await drawing.evaluate(`(${SVG})(${JSON.stringify(picture)})`);
  const figures: Figure[] = [];
  for (const { name, canvas, svg } of MOTIONS) {
    const [ours, theirs]: [Frames[], Frames[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      await page.bringToFront();
      ours.push(await framesOf(browser, page, canvas));
      await drawing.bringToFront();
      theirs.push(await framesOf(browser, drawing, svg));
    }
    const title = `${count} nodes, ${name}`;
    figures.push(
      ...figuresOf(title, 'canvas', ours, SCRIPT_AIM),
      ...figuresOf(title, 'SVG', theirs, undefined),
    );
  }
  await drawing.close();
  return figures;
}

function figuresOf(
  title: string,
  kind: string,
  rounds: readonly Frames[],
  aim: string | undefined,
): Figure[] {
  const each = (share: number, of: (frames: Frames) => readonly number[]): number[] =>
    rounds.map((frames) => quantile(of(frames), share));
  const script = ({ script: ms }: Frames): readonly number[] => ms;
  const paint = ({ paint: ms }: Frames): readonly number[] => ms;
  return [
    figure(`${title}, ${kind}: script of a frame, p50`, 'ms', each(0.5, script), aim),
    figure(`${title}, ${kind}: script of a frame, p99`, 'ms', each(0.99, script)),
    figure(`${title}, ${kind}: painting of a frame, p50`, 'ms', each(0.5, paint)),
    figure(`${title}, ${kind}: painting of a frame, p99`, 'ms', each(0.99, paint)),
    figure(
      `${title}, ${kind}`,
      'frames/s',
      rounds.map(({ perSecond }) => perSecond),
    ),
  ];
}
