/** The parts of the map that need no browser: the scene, what is met at a place, room for words, steps, rates. */
import t from 'tap';
import { LinkCounts } from '../../src/console/map/counts.js';
import { drawingBox, drawingFacts, type DrawingFacts } from '../../src/console/map/drawings.js';
import { HitTest, neighbour } from '../../src/console/map/hit-test.js';
import { layersOf, layersText, withLayer } from '../../src/console/map/layers.js';
import { Layout } from '../../src/console/map/layout.js';
import { outlineRows } from '../../src/console/map/outline-rows.js';
import { pictureOf } from '../../src/console/map/picture.js';
import { onlyShape, svgOf, usualShape } from '../../src/console/map/picture-source.js';
import { Room } from '../../src/console/map/room.js';
import { freePlace, Scene, type LinkFacts, type NodeFacts } from '../../src/console/map/scene.js';
import { Steps } from '../../src/console/map/steps.js';
import { View } from '../../src/console/map/view.js';
import { badgeOf, short } from '../../src/console/map/words.js';

function node(id: string, x: number, y: number): NodeFacts {
  const rest = { type: 'ethernet_hub', symbol: '', consoleType: undefined };
  return { ...rest, id, name: id, status: 'started', isLocked: false, x, y, width: 40, height: 20 };
}

function link(id: string, a: string, b: string): LinkFacts {
  const ends = [
    { node: a, adapter: 0, port: 0 },
    { node: b, adapter: 0, port: 1 },
  ] as const;
  return { id, ends, isSuspended: false, isCapturing: false, filters: {}, forward: {}, backward: {} };
}

function triangle(): Scene {
  const scene = new Scene();
  for (const facts of [node('a', 0, 0), node('b', 200, 0), node('c', 0, 200)]) scene.putNode(facts);
  for (const facts of [link('ab', 'a', 'b'), link('ba', 'b', 'a'), link('ac', 'a', 'c')])
    scene.putLink(facts);
  return scene;
}

void t.test('a scene keeps links at their nodes, whatever is removed', (t) => {
  const scene = triangle();
  t.same([...scene.bend.subarray(0, 3)], [0, 1, 0], 'the second between two nodes lies beside');
  scene.putLink(link('lost', 'a', 'nowhere'));
  t.equal(scene.links.length, 3, 'a link without its nodes is left out');
  scene.putNode(node('d', 400, 0));
  scene.putLink(link('cd', 'c', 'd'));
  scene.removeNode('a');
  t.same(
    scene.links.map(({ id }) => id),
    ['cd'],
  );
  t.same([scene.nodes[scene.first[0] ?? 9]?.id, scene.nodes[scene.second[0] ?? 9]?.id], ['c', 'd']);
  scene.removeLink('unknown');
  scene.shift('d', 5, 6);
  t.same(scene.bounds(), [0, 0, 445, 220]);
  t.same(scene.bounds(new Set(['d'])), [405, 6, 445, 26]);
  scene.clear();
  t.equal(scene.bounds(), undefined);
  for (let count = 0; count < 300; count++) scene.putNode(node(`n${count}`, count, 2 * count));
  t.same([scene.x[299], scene.y[299]], [319, 608]);
  t.same(freePlace(triangle(), 0, 0), [90, 0]);
  t.end();
});

void t.test('nodes and links are met where they are', (t) => {
  const scene = triangle();
  const hits = new HitTest(scene);
  t.equal(hits.nodeAt(10, 10), 0);
  t.equal(hits.nodeAt(41, 10), undefined);
  t.equal(hits.linkAt(120, 11, 4), 0);
  t.equal(hits.linkAt(120, -4, 4), 1, 'the one beside');
  t.equal(hits.linkAt(120, 100, 4), undefined);
  scene.shift('a', 1000, -1000);
  t.equal(hits.nodeAt(10, 10), undefined);
  t.equal(hits.nodeAt(1010, -990), 0);
  const still = triangle();
  t.equal(neighbour(still, 0, 1, 0), 1);
  t.equal(neighbour(still, 0, 0, 1), 2);
  t.equal(neighbour(still, 0, -1, 0), undefined);
  t.end();
});

void t.test('a view keeps what is under the pointer when it zooms', (t) => {
  const view = new View();
  Object.assign(view, { width: 800, height: 600 });
  const [x, y] = [view.toWorldX(700), view.toWorldY(50)];
  view.zoomAt(700, 50, 1.7);
  t.ok(Math.abs(view.toScreenX(x) - 700) < 1e-6 && Math.abs(view.toScreenY(y) - 50) < 1e-6);
  view.fit([0, 0, 10_000, 100]);
  t.ok(view.toScreenX(0) >= 0 && view.toScreenX(10_000) <= 800);
  view.zoomAt(0, 0, 1e9);
  t.equal(view.zoom, 4);
  view.reveal(5000, 5000);
  t.ok(view.toScreenX(5000) > 0 && view.toScreenX(5000) < 800);
  t.end();
});

void t.test('words never lie on each other', (t) => {
  const room = new Room();
  room.reset(400, 300);
  t.ok(room.take(10, 10, 50, 14));
  t.notOk(room.take(40, 20, 50, 14));
  t.notOk(room.take(390, 10, 50, 14), 'not all of it is on the screen');
  t.ok(room.take(100, 10, 50, 14));
  room.reset(400, 300);
  t.ok(room.take(40, 20, 50, 14));
  t.end();
});

void t.test('steps are undone in the order of the keys, also those that are still under way', async (t) => {
  const log: string[] = [];
  const failures: unknown[] = [];
  const steps = new Steps(
    (error) => failures.push(error),
    () => undefined,
  );
  let finish: () => void = () => undefined;
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const step = (name: string, waits = false) => ({
    name,
    show: () => log.push(`show ${name}`),
    hide: () => log.push(`hide ${name}`),
    run: async () => {
      if (waits) await slow;
      log.push(`run ${name}`);
    },
    undo: () => {
      log.push(`undo ${name}`);
      return Promise.resolve();
    },
  });
  void steps.do(step('a', true));
  void steps.do(step('b'));
  const undone = steps.undo();
  t.same([steps.undoable, steps.redoable], ['a', 'b']);
  t.same(log, ['show a', 'show b', 'hide b'], 'all is shown at once');
  finish();
  await undone;
  t.same(log.slice(3), ['run a', 'run b', 'undo b']);
  await steps.redo();
  t.equal(log.at(-1), 'run b');
  await steps.do({ ...step('c'), run: () => Promise.reject(new Error('no')) });
  t.equal(log.at(-1), 'hide c', 'a refused step is taken back');
  t.same([failures.length, steps.undoable, steps.redoable], [1, 'b', undefined]);
});

void t.test('rates come of counts, and end when these stand still', (t) => {
  const scene = triangle();
  const counts = new LinkCounts(scene);
  const frame = (at: number, ...values: number[]): ArrayBuffer => new Float64Array([at, ...values]).buffer;
  counts.number({ links: { ab: 7, gone: 8 }, removed: [] });
  counts.take(frame(1000, 7, 100, 6400, 0, 0, 0, 0, 0));
  t.equal(scene.rateOf(0, 0), 0, 'one count is no rate');
  counts.take(frame(2000, 7, 300, 19_200, 10, 640, 0, 5, 2));
  t.same(
    [0, 1, 2, 3, 4, 5, 6].map((column) => scene.rateOf(0, column)),
    [200, 12_800, 10, 640, 0, 5, 2],
  );
  t.equal(badgeOf(scene, 0, scene.links[0] ?? link('', '', '')), '210/s 7 drops/s');
  const { revision } = scene;
  counts.take(frame(3000));
  t.same([scene.rateOf(0, 0), scene.revision > revision], [0, true]);
  counts.take(frame(4000, 7, 10, 640, 0, 0, 0, 0, 0));
  t.equal(scene.rateOf(0, 0), 0, 'counts that begin again');
  counts.number({ links: {}, removed: ['ab'] });
  t.equal(counts.totals('ab'), undefined);
  t.same([950, 1234, 34_567, 5.6e6].map(short), ['950', '1.2k', '35k', '5.6M']);
  t.end();
});

void t.test('the outline has nodes by name, and their links below them', (t) => {
  const scene = triangle();
  scene.putNode(node('a10', 0, 0));
  scene.putNode(node('a2', 0, 0));
  const rows = outlineRows(scene, new Set(['b']), '');
  t.same(
    rows.map(({ level, name }) => `${level} ${name}`),
    ['1 a', '1 a2', '1 a10', '1 b', '2 0/1 – a 0/0', '2 0/0 – a 0/1', '1 c'],
  );
  t.equal(outlineRows(scene, new Set(), 'HUB a1').length, 0);
  t.equal(outlineRows(scene, new Set(), 'a1').length, 1);
  t.end();
});

function drawing(id: string, svg: string, place: Partial<DrawingFacts> = {}): DrawingFacts {
  const told = { drawing_id: id, project_id: '', x: 0, y: 0, z: 1, rotation: 0, locked: false, svg };
  const facts = drawingFacts(told);
  if (facts === undefined) throw new Error('a drawing has a picture');
  return { ...facts, ...place };
}

void t.test('pictures of GNS3 are read as shapes', (t) => {
  const shapesOf = (svg: string) => pictureOf(svg).shapes;
  t.match(
    pictureOf(
      '<svg height="100" width="200"><rect fill="#ffffff" fill-opacity="1.0" height="100" rx="5" stroke="#000000" stroke-dasharray="10, 5" stroke-width="2" width="200" /></svg>',
    ),
    {
      width: 200,
      height: 100,
      shapes: [
        {
          kind: 'rect',
          width: 200,
          radius: 5,
          fill: '#ffffff',
          stroke: '#000000',
          strokeWidth: 2,
          dashes: [10, 5],
        },
      ],
    },
  );
  t.match(shapesOf('<svg><ellipse cx="10" cy="20" rx="10" ry="20" style="fill: none; stroke: red"/></svg>'), [
    { kind: 'ellipse', cx: 10, ry: 20, fill: undefined, stroke: 'red' },
  ]);
  t.match(
    pictureOf('<svg width="30" height="40"><line x1="0" y1="0" x2="-30" y2="-40" stroke="#ff0000"/></svg>'),
    {
      ...{ left: -30, top: -40, width: 30, height: 40 },
      shapes: [{ kind: 'line', x2: -30 }],
    },
  );
  t.match(
    shapesOf(
      "<?xml version='1.0'?><!-- <rect/> --><svg><g fill='#0000ff'><text font-size='12.0' font-weight='bold' text-decoration='underline'>A &amp; B &#x41;\n<tspan>two</tspan></text></g></svg>",
    ),
    [
      {
        kind: 'text',
        lines: ['A & B A', 'two'],
        size: 16,
        isBold: true,
        isUnderlined: true,
        fill: '#0000ff',
      },
    ],
  );
  const bitmap = 'data:image/png;base64,AAAA';
  t.match(shapesOf(`<svg><image xlink:href="${bitmap}" width="5" height="6"/></svg>`), [{ source: bitmap }]);
  const path = '<svg width="9" height="9"><path d="M0 0L9 9"/></svg>';
  t.match(pictureOf(path), { width: 9, shapes: [{ kind: 'image', source: path }] }, 'all else is an image');
  for (const kind of ['text', 'rect', 'ellipse', 'line'] as const) {
    const usual = usualShape(kind);
    const text = { lines: ['<b> & "c"', "'d'"], family: 'sans-serif' };
    const shape = usual.kind === 'text' ? { ...usual, ...text } : usual;
    const again = onlyShape(pictureOf(svgOf(shape))) ?? usual;
    t.match(again, kind === 'line' ? { ...shape, fill: 'black', fillOpacity: 1 } : shape);
    t.equal(svgOf(again), svgOf(shape), 'it is written as it was read');
  }
  t.end();
});

void t.test('pictures of strangers are shapes within bounds, images, or nothing', (t) => {
  const refused = [
    '<svg><script>alert(1)</script><rect width="5" height="5"/></svg>',
    '<svg><foreignObject><body/></foreignObject></svg>',
    '<!DOCTYPE svg [<!ENTITY a "b">]><svg><path d="M0 0"/></svg>',
    '<svg><g><use href="#a"/></g></svg>',
  ];
  for (const svg of refused) t.same(pictureOf(svg).shapes, [], svg);
  const rect =
    '<svg><rect width="1e999" height="-5" x="NaN" fill="url(http://elsewhere)" onclick="x" stroke-width="1e9"/></svg>';
  t.match(pictureOf(rect).shapes, [{ width: 0, height: 0, x: 0, fill: 'black', strokeWidth: 500 }]);
  t.match(pictureOf(`<svg>${'<rect/>'.repeat(5000)}</svg>`).shapes.length, 200);
  const deep = Array.from({ length: 40_000 }, (_, depth) => `<g a${depth}="x"><rect/>`).join('');
  t.equal(pictureOf(`<svg>${deep}`).shapes.length, 63, 'parts in parts are read to a depth');
  const [text] = pictureOf(
    `<svg><text font-family="a&quot;;}url(x)">${'long\n'.repeat(9999)}</text></svg>`,
  ).shapes;
  t.match(text, { kind: 'text', family: 'aurlx' });
  t.equal(text?.kind === 'text' && text.lines.length, 200);
  t.match(pictureOf('<svg><image href="http://elsewhere/a.png" width="1" height="1"/></svg>').shapes, [
    { source: '' },
  ]);
  const whole = `<svg width="20"><g a='1' b=2 c><text x="1">a&lt;b</text><!-- c --></g><line x1="1"/></svg>`;
  for (let end = 0; end <= whole.length; end++) pictureOf(whole.slice(0, end));
  for (const svg of ['', '<', '<<<>', '</svg>', '<svg / = "', `<${'a'.repeat(1e5)}`, '<svg '.repeat(1e4)])
    t.ok(pictureOf(svg));
  t.end();
});

void t.test('drawings lie on layers, are turned, and are met on what is seen of them', (t) => {
  const scene = new Scene();
  const square =
    '<svg width="100" height="50"><rect width="100" height="50" fill="none" stroke="black"/></svg>';
  scene.putDrawing(drawing('frame', square, { z: 2 }));
  scene.putDrawing(drawing('filled', square.replace('none', 'white'), { x: 20 }));
  scene.putDrawing(drawing('turned', square.replace('none', 'white'), { x: 500, y: 500, rotation: 90 }));
  const idsOf = (): string[] => scene.drawings.all.map(({ id }) => id);
  t.same(idsOf(), ['filled', 'turned', 'frame']);
  t.equal(scene.drawings.at(50, 25, 2)?.id, 'filled', 'a frame is empty inside');
  t.equal(scene.drawings.at(50, 1, 2)?.id, 'frame', 'its edge lies above');
  t.equal(scene.drawings.at(480, 560, 2)?.id, 'turned');
  t.equal(scene.drawings.at(550, 520, 2), undefined);
  const turned = scene.drawings.get('turned');
  t.same(turned && drawingBox(turned).map(Math.round), [450, 500, 500, 600]);
  t.same(scene.bounds()?.map(Math.round), [0, 0, 500, 600]);
  const { svg: _, ...told } = {
    drawing_id: 'frame',
    project_id: '',
    x: 7,
    y: 8,
    z: 0,
    rotation: 0,
    locked: true,
    svg: '',
  };
  t.match(drawingFacts(told, scene.drawings.get('frame')), { x: 7, isLocked: true, svg: square });
  t.equal(drawingFacts(told), undefined, 'an event without its picture');
  const rows = outlineRows(scene, new Set(), 'rect');
  t.same(
    rows.map(({ id, name, what }) => `${what} ${id} ${name}`),
    ['drawing filled Rectangle', 'drawing turned Rectangle', 'drawing frame Rectangle'],
  );
  scene.removeDrawing('filled');
  t.same(idsOf(), ['turned', 'frame']);
  t.end();
});

void t.test('a layout parts nodes, keeps linked ones near, and leaves alone what is not asked for', (t) => {
  const scene = new Scene();
  for (let index = 0; index < 60; index++) scene.putNode(node(`n${index}`, 0, 0));
  for (let index = 1; index < 60; index++)
    scene.putLink(link(`l${index}`, `n${index}`, `n${Math.floor((index - 1) / 3)}`));
  scene.putNode({ ...node('locked', 500, 500), isLocked: true });
  scene.putNode(node('other', -500, 0));
  const ids = new Set(scene.nodes.map(({ id }) => id).filter((id) => id !== 'other'));
  const layout = new Layout(scene, ids);
  let turns = 1;
  while (layout.advance()) turns++;
  t.ok(turns <= 300, 'it ends');
  const places = layout.places();
  t.equal(places.length, 60, 'those that are locked or not asked for have no new place');
  for (const { id, x, y } of places) scene.putNode({ ...node(id, x, y) });
  const distance = (a: number, b: number): number =>
    Math.hypot((scene.x[a] ?? 0) - (scene.x[b] ?? 0), (scene.y[a] ?? 0) - (scene.y[b] ?? 0));
  const pairs = scene.nodes
    .flatMap((_, a) => scene.nodes.map((__, b) => [a, b] as const))
    .filter(([a, b]) => a < b);
  t.ok(
    pairs.every(([a, b]) => distance(a, b) > 40),
    'no two are on one place',
  );
  t.ok(
    scene.links.every((_, index) => distance(scene.first[index] ?? 0, scene.second[index] ?? 0) < 600),
    'linked ones are near',
  );
  t.notOk(new Layout(new Scene(), new Set()).advance());
  t.same(new Layout(triangle(), new Set(['nobody'])).places(), []);
  t.end();
});

void t.test('layers are kept as words, and hide words of links', (t) => {
  const usual = layersOf(null);
  t.notOk(usual.has('grid'));
  const more = withLayer(withLayer(usual, 'grid', true), 'rates', false);
  t.same(layersOf(`${layersText(more)} unknown`), more);
  const scene = triangle();
  scene.rates.fill(10, 0, 4);
  const suspended = { ...link('ab', 'a', 'b'), isSuspended: true };
  t.equal(badgeOf(scene, 0, suspended), '✖ 20/s');
  t.equal(badgeOf(scene, 0, suspended, more), '✖');
  t.equal(badgeOf(scene, 0, suspended, layersOf('rates')), '20/s');
  t.end();
});
