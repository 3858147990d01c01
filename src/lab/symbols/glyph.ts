/*
 * A glyph: the picture of one meaning (router, hub, printer) on a 100 x 100 grid, as data. A glyph knows
 * nothing of themes or colours; it is painted with one ink on one ground, so every theme shares it.
 * Parts are painted in order: `line` and `fine` stroke with ink, `solid` fills with ink, `cut` fills and
 * `score` strokes with the ground, to carve detail out of what lies below.
 */
type GlyphPaint = 'line' | 'fine' | 'solid' | 'cut' | 'score';
type GlyphPart = readonly [paint: GlyphPaint, path: string];
export type Glyph = readonly GlyphPart[];

const LINE_WIDTH = 7;
const FINE_WIDTH = 5;

export function paintGlyph(glyph: Glyph, ink: string, ground: string): string {
  return glyph.map(([paint, path]) => paintPart(paint, path, ink, ground)).join('');
}

function paintPart(paint: GlyphPaint, path: string, ink: string, ground: string): string {
  switch (paint) {
    case 'solid':
      return `<path d="${path}" fill="${ink}"/>`;
    case 'cut':
      return `<path d="${path}" fill="${ground}"/>`;
    case 'line':
      return strokePath(path, ink, LINE_WIDTH);
    case 'fine':
      return strokePath(path, ink, FINE_WIDTH);
    case 'score':
      return strokePath(path, ground, FINE_WIDTH);
  }
}

function strokePath(path: string, colour: string, width: number): string {
  return (
    `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}"` +
    ' stroke-linecap="round" stroke-linejoin="round"/>'
  );
}

/** Up to three letters, for names that are better read than drawn. */
export function paintLetters(letters: string, ink: string): string {
  const size = letters.length > 2 ? 40 : 54;
  return (
    `<text x="50" y="${50 + size * 0.36}" fill="${ink}" font-family="DejaVu Sans, Arial, sans-serif"` +
    ` font-size="${size}" font-weight="bold" text-anchor="middle">${letters}</text>`
  );
}

export function circlePath(x: number, y: number, radius: number): string {
  const across = radius * 2;
  return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${across} 0a${radius} ${radius} 0 1 0 -${across} 0Z`;
}

export function boxPath(x: number, y: number, width: number, height: number): string {
  return `M${x} ${y}h${width}v${height}h-${width}Z`;
}
