import t from 'tap';
import { BUILTIN_SYMBOLS, type BuiltinSymbol } from '../../../src/lab/symbols/builtin-symbols.js';
import { drawSymbol } from '../../../src/lab/symbols/symbol-drawing.js';

const TAG = /<(\/?)([a-zA-Z]+)((?: [a-zA-Z0-9-]+="[^"<>&]*")*)(\/?)>/g;

/** Returns what breaks well-formedness, or undefined: tags must nest and no stray markup may remain. */
function findMarkupFault(svg: string): string | undefined {
  const open: string[] = [];
  for (const [tag, closing, name = '', attributes = '', empty] of svg.matchAll(TAG)) {
    const keys = attributes.match(/[a-zA-Z0-9-]+(?==")/g) ?? [];
    if (new Set(keys).size !== keys.length) {
      return `repeated attribute in ${tag}`;
    }
    if (closing === '/') {
      if (open.pop() !== name) {
        return `unexpected ${tag}`;
      }
    } else if (empty === '') {
      open.push(name);
    }
  }
  const text = svg.replaceAll(TAG, '');
  return open.length > 0 ? `unclosed ${open.join(' ')}` : /[<>&]/.exec(text)?.[0];
}

function getStem(symbol: BuiltinSymbol): string {
  return symbol.filename.replace(/\.svg$/, '');
}

void t.test('every symbol draws a well-formed document of its declared size', (t) => {
  for (const symbol of BUILTIN_SYMBOLS) {
    const svg = drawSymbol(symbol);
    const size = `width="${symbol.width}" height="${symbol.height}"`;
    t.ok(svg.startsWith(`<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 `), symbol.symbol_id);
    t.ok(svg.endsWith('</svg>\n'), symbol.symbol_id);
    t.equal(findMarkupFault(svg), undefined, symbol.symbol_id);
    t.notMatch(svg, /NaN|undefined|Infinity/, symbol.symbol_id);
  }
  t.end();
});

void t.test('the fault finder sees faults', (t) => {
  t.equal(findMarkupFault('<g><path d="M0 0"/></g>'), undefined);
  t.equal(findMarkupFault('<g><path d="M0 0"></g>'), 'unexpected </g>');
  t.equal(findMarkupFault('<g>'), 'unclosed g');
  t.equal(findMarkupFault('<g a="1" a="2"/>'), 'repeated attribute in <g a="1" a="2"/>');
  t.equal(findMarkupFault('<g a="<"/>'), '<');
  t.end();
});

void t.test('path data holds nothing but commands and numbers', (t) => {
  for (const symbol of BUILTIN_SYMBOLS) {
    for (const [, path = ''] of drawSymbol(symbol).matchAll(/ d="([^"]*)"/g)) {
      t.match(path, /^M[MLHVCSQAZlhva0-9. -]+$/, symbol.symbol_id);
    }
  }
  t.end();
});

void t.test('no two symbols of a theme look alike', (t) => {
  const drawings = BUILTIN_SYMBOLS.filter((symbol) => symbol.theme === 'Affinity-square-red').map((symbol) =>
    drawSymbol(symbol)
      .replaceAll(`affinity-square-red-${getStem(symbol)}`, '')
      .replace(/<title>.*<\/title>/, ''),
  );
  t.equal(new Set(drawings).size, drawings.length);
  t.end();
});

void t.test('gradient ids are unique, so that one page can inline every symbol', (t) => {
  const ids = BUILTIN_SYMBOLS.flatMap((symbol) => drawSymbol(symbol).match(/(?<= id=")[^"]+/g) ?? []);
  t.equal(new Set(ids).size, BUILTIN_SYMBOLS.length);
  t.equal(ids.length, BUILTIN_SYMBOLS.length);
  t.end();
});

void t.test('only names that are abbreviations are written in letters', (t) => {
  const lettered = BUILTIN_SYMBOLS.filter((symbol) => drawSymbol(symbol).includes('<text'));
  t.same([...new Set(lettered.map(getStem))].toSorted(), ['PBX', 'vrf']);
  t.end();
});
