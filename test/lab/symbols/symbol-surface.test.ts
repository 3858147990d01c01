import t from 'tap';
import {
  buildBar,
  buildCloud,
  buildDisc,
  buildScreen,
  buildSlab,
  buildSquare,
  type Tint,
} from '../../../src/lab/symbols/symbol-surface.js';

const tint: Tint = { light: '#ccc', base: '#888', dark: '#333' };
const builders = { buildBar, buildCloud, buildDisc, buildScreen, buildSlab, buildSquare };

void t.test('the glyph area lies inside the picture', (t) => {
  for (const [name, build] of Object.entries(builders)) {
    const { area } = build(72, 48, tint, 'face');
    t.ok(area.x >= 0 && area.x + area.width <= 72, name);
    t.ok(area.y >= 0 && area.y + area.height <= 48, name);
    t.ok(area.width > 0 && area.height > 0, name);
  }
  t.end();
});

void t.test('a surface uses only its own gradient and tells the colour behind the glyphs', (t) => {
  for (const [name, build] of Object.entries(builders)) {
    const { body, ground } = build(60, 60, tint, 'face-one');
    t.match(body, /id="face-one"/, name);
    t.match(body, /fill="url\(#face-one\)"/, name);
    t.equal(ground, tint.base, name);
  }
  t.end();
});

void t.test('only a flat slab shows ports', (t) => {
  const countPaths = (body: string): number => body.split('<path').length - 1;
  t.equal(countPaths(buildSlab(72, 32, tint, 'face').body), 1);
  t.equal(countPaths(buildSlab(51, 48, tint, 'face').body), 0);
  t.end();
});
