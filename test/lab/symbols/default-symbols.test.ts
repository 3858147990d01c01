import t from 'tap';
import { BUILTIN_SYMBOLS } from '../../../src/lab/symbols/builtin-symbols.js';
import { DEFAULT_SYMBOLS } from '../../../src/lab/symbols/default-symbols.js';

void t.test('seven themes name the same fifteen categories', (t) => {
  const themes = Object.entries(DEFAULT_SYMBOLS);
  t.equal(themes.length, 7);
  for (const [theme, categories] of themes) {
    t.equal(Object.keys(categories).length, 15, theme);
    t.same(Object.keys(categories), Object.keys(DEFAULT_SYMBOLS['Classic'] ?? {}), theme);
  }
  t.end();
});

void t.test('every default symbol exists in the theme that names it', (t) => {
  for (const [theme, categories] of Object.entries(DEFAULT_SYMBOLS)) {
    for (const [category, id] of Object.entries(categories)) {
      const symbol = BUILTIN_SYMBOLS.find((candidate) => candidate.symbol_id === id);
      t.equal(symbol?.theme, theme, `${theme} ${category}`);
    }
  }
  t.end();
});
