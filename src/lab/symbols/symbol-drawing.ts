/*
 * Draws a built-in symbol as a complete SVG document of exactly its catalogued size. Everything in the
 * picture is ours: a surface chosen by theme and kind, and on it one or two glyphs, or a few letters.
 */
import type { BuiltinSymbol } from './builtin-symbols.js';
import { paintGlyph, paintLetters } from './glyph.js';
import { findSymbolGlyphs } from './symbol-glyphs.js';
import { findSymbolLook } from './symbol-look.js';
import type { Area } from './symbol-surface.js';

const GLYPH_GRID = 100;
const GLYPH_FILL = 0.78;
const GLYPH_GAP = 0.16;

/** The one symbol whose surface already is its picture. */
const BARE_SYMBOL_ID = ':/symbols/classic/cloud.svg';

export function drawSymbol(symbol: BuiltinSymbol): string {
  const { width, height } = symbol;
  const stem = symbol.filename.replace(/\.svg$/, '');
  const look = findSymbolLook(symbol.theme, stem);
  const gradientId = `${symbol.theme}-${stem}`.toLowerCase();
  const surface = look.buildSurface(width, height, look.tint, gradientId);
  const isBare = symbol.symbol_id === BARE_SYMBOL_ID;
  const pictures = isBare ? [] : paintPictures(stem, look.ink, surface.ground);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<title>${stem.replaceAll('_', ' ')}</title>${surface.body}${placePictures(pictures, surface.area)}</svg>\n`
  );
}

function paintPictures(stem: string, ink: string, ground: string): string[] {
  const glyphs = findSymbolGlyphs(stem);
  return glyphs.length === 0
    ? [paintLetters(stem.slice(0, 3).toUpperCase(), ink)]
    : glyphs.map((glyph) => paintGlyph(glyph, ink, ground));
}

function placePictures(pictures: readonly string[], area: Area): string {
  const columns = pictures.length + GLYPH_GAP * (pictures.length - 1);
  const side = GLYPH_FILL * Math.min(area.height, area.width / Math.max(columns, 1));
  const left = area.x + (area.width - side * columns) / 2;
  const top = area.y + (area.height - side) / 2;
  return pictures
    .map((picture, index) => {
      const x = left + index * side * (1 + GLYPH_GAP);
      return `<g transform="translate(${round(x)} ${round(top)}) scale(${round(side / GLYPH_GRID)})">${picture}</g>`;
    })
    .join('');
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
