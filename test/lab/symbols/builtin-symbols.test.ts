import t from 'tap';
import { BUILTIN_SYMBOLS, findBuiltinSymbol } from '../../../src/lab/symbols/builtin-symbols.js';

void t.test('ids are unique and end in the file name', (t) => {
  t.equal(new Set(BUILTIN_SYMBOLS.map((symbol) => symbol.symbol_id)).size, BUILTIN_SYMBOLS.length);
  for (const symbol of BUILTIN_SYMBOLS) {
    t.ok(symbol.symbol_id.endsWith(`/${symbol.filename}`), symbol.symbol_id);
    t.match(symbol.filename, /^[\w.]+\.svg$/);
  }
  t.end();
});

void t.test('an id is the theme in lower case with slashes, under :/symbols/', (t) => {
  for (const symbol of BUILTIN_SYMBOLS) {
    const folder = symbol.theme.toLowerCase().replaceAll('-', '/');
    t.equal(symbol.symbol_id, `:/symbols/${folder}/${symbol.filename}`);
  }
  t.end();
});

void t.test('symbols are sorted by theme, then by file name', (t) => {
  const keys = BUILTIN_SYMBOLS.map((symbol) => `${symbol.theme}/${symbol.filename}`);
  t.same(keys, keys.toSorted());
  t.end();
});

void t.test('there are eight affinity themes of one content and the classic theme', (t) => {
  const namesByTheme = new Map<string, string[]>();
  for (const { theme, filename } of BUILTIN_SYMBOLS) {
    namesByTheme.set(theme, [...(namesByTheme.get(theme) ?? []), filename]);
  }
  t.equal(namesByTheme.size, 9);
  t.equal(namesByTheme.get('Classic')?.length, 43);
  for (const [theme, names] of namesByTheme) {
    if (theme !== 'Classic') {
      t.same(names, namesByTheme.get('Affinity-circle-blue'), theme);
    }
  }
  t.end();
});

void t.test('symbols have the sizes that saved projects rely on', (t) => {
  const sizes: readonly (readonly [string, number, number])[] = [
    [':/symbols/classic/computer.svg', 65, 59],
    [':/symbols/classic/router.svg', 66, 45],
    [':/symbols/classic/ethernet_switch.svg', 72, 32],
    [':/symbols/classic/atm_switch.svg', 51, 48],
    [':/symbols/classic/cloud.svg', 159, 71],
    [':/symbols/affinity/square/green/xml.svg', 60, 60],
  ];
  for (const [id, width, height] of sizes) {
    t.match(findBuiltinSymbol(id), { symbol_id: id, width, height });
  }
  t.end();
});

void t.test('an id without a theme means the classic symbol of that file name', (t) => {
  t.equal(findBuiltinSymbol(':/symbols/computer.svg')?.symbol_id, ':/symbols/classic/computer.svg');
  t.equal(findBuiltinSymbol('router.svg')?.symbol_id, ':/symbols/classic/router.svg');
  t.equal(
    findBuiltinSymbol(':/symbols/affinity/circle/blue/vpcs_guest.svg')?.symbol_id,
    ':/symbols/classic/vpcs_guest.svg',
  );
  t.end();
});

void t.test('an unknown file name finds nothing', (t) => {
  for (const id of ['', ':/symbols/', ':/symbols/nothing.svg', 'constructor']) {
    t.equal(findBuiltinSymbol(id), undefined);
  }
  t.end();
});
