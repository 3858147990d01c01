import t from 'tap';
import { BUILTIN_SYMBOLS } from '../../../src/lab/symbols/builtin-symbols.js';
import { EMBLEM_GLYPHS } from '../../../src/lab/symbols/emblem-glyphs.js';
import { HOST_GLYPHS } from '../../../src/lab/symbols/host-glyphs.js';
import { MEDIA_GLYPHS } from '../../../src/lab/symbols/media-glyphs.js';
import { NETWORK_GLYPHS } from '../../../src/lab/symbols/network-glyphs.js';
import { findSymbolGlyphs } from '../../../src/lab/symbols/symbol-glyphs.js';

const tables = [NETWORK_GLYPHS, HOST_GLYPHS, MEDIA_GLYPHS, EMBLEM_GLYPHS];

void t.test('no glyph name stands in two tables', (t) => {
  const names = tables.flatMap((table) => Object.keys(table));
  t.equal(new Set(names).size, names.length);
  t.end();
});

void t.test('every glyph is shown by some symbol', (t) => {
  const shown = new Set(
    BUILTIN_SYMBOLS.flatMap((symbol) => findSymbolGlyphs(symbol.filename.replace(/\.svg$/, ''))),
  );
  for (const [name, glyph] of tables.flatMap((table) => Object.entries(table))) {
    t.ok(shown.has(glyph), name);
  }
  t.end();
});

void t.test('absolute coordinates stay on the grid', (t) => {
  for (const [name, glyph] of tables.flatMap((table) => Object.entries(table))) {
    for (const [, path] of glyph) {
      for (const [, x = '', y = ''] of path.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)) {
        t.ok(
          [Number(x), Number(y)].every((value) => value >= 4 && value <= 96),
          `${name} ${x} ${y}`,
        );
      }
    }
  }
  t.end();
});

void t.test('a compound device shows both its glyphs, in reading order', (t) => {
  t.same(findSymbolGlyphs('router_firewall'), [NETWORK_GLYPHS['router'], MEDIA_GLYPHS['wall']]);
  t.end();
});

void t.test('an abbreviation has no glyph', (t) => {
  t.same(findSymbolGlyphs('vrf'), []);
  t.end();
});
