/** Writes pictures as GNS3 does, so that its clients show and change them, too. */
import {
  textRoom,
  type EllipseShape,
  type LineShape,
  type Picture,
  type RectShape,
  type Shape,
  type TextShape,
} from './picture.js';

/** The shapes that people draw here. */
export type DrawnShape = TextShape | RectShape | EllipseShape | LineShape;

/** The shape of a picture that is nothing else. */
export function onlyShape({ shapes }: Picture): DrawnShape | undefined {
  const [first] = shapes;
  return shapes.length === 1 && first?.kind !== 'image' ? first : undefined;
}

const POINTS_OF_PIXEL = 3 / 4;

export function svgOf(shape: DrawnShape): string {
  const [width, height] = extentOf(shape);
  return `<svg width="${width}" height="${height}">${elementOf(shape)}</svg>`;
}

export function extentOf(shape: DrawnShape): readonly [width: number, height: number] {
  switch (shape.kind) {
    case 'text':
      return textRoom(shape);
    case 'rect':
      return [shape.width, shape.height];
    case 'ellipse':
      return [2 * shape.rx, 2 * shape.ry];
    case 'line':
      return [Math.abs(shape.x2 - shape.x1), Math.abs(shape.y2 - shape.y1)];
  }
}

function elementOf(shape: DrawnShape): string {
  switch (shape.kind) {
    case 'text': {
      const { lines, fill, fillOpacity, family, size, isBold, isItalic, isUnderlined } = shape;
      const attributes = attributesOf({
        fill: fill ?? 'none',
        'fill-opacity': fillOpacity,
        'font-family': family === '' ? 'sans-serif' : family,
        'font-size': Math.round(size * POINTS_OF_PIXEL * 100) / 100,
        ...(isBold ? { 'font-weight': 'bold' } : {}),
        ...(isItalic ? { 'font-style': 'italic' } : {}),
        ...(isUnderlined ? { 'text-decoration': 'underline' } : {}),
      });
      return `<text ${attributes}>${escaped(lines.join('\n'))}</text>`;
    }
    case 'rect': {
      const { width, height, radius } = shape;
      const round = radius > 0 ? { rx: radius, ry: radius } : {};
      return `<rect ${attributesOf({ ...inkAttributes(shape), width, height, ...round })} />`;
    }
    case 'ellipse': {
      const { cx, cy, rx, ry } = shape;
      return `<ellipse ${attributesOf({ ...inkAttributes(shape), cx, cy, rx, ry })} />`;
    }
    case 'line': {
      const { x1, y1, x2, y2, stroke, strokeWidth, dashes } = shape;
      const ink = { stroke: stroke ?? 'none', 'stroke-width': strokeWidth, ...dashAttribute(dashes) };
      return `<line ${attributesOf({ ...ink, x1, y1, x2, y2 })} />`;
    }
  }
}

function inkAttributes({ fill, fillOpacity, stroke, strokeWidth, dashes }: RectShape | EllipseShape): object {
  return {
    // GNS3 knows no figure without a colour inside, but one that is not seen.
    fill: fill ?? '#ffffff',
    'fill-opacity': fill === undefined ? 0 : fillOpacity,
    stroke: stroke ?? 'none',
    'stroke-width': strokeWidth,
    ...dashAttribute(dashes),
  };
}

function dashAttribute(dashes: readonly number[]): object {
  return dashes.length === 0 ? {} : { 'stroke-dasharray': dashes.join(', ') };
}

function attributesOf(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(' ');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The patterns of lines that people choose from, as the lengths of strokes and gaps. */
export const PATTERNS = { solid: [], dashed: [10, 6], dotted: [2, 4] } as const;

export const SHAPE_KINDS: readonly DrawnShape['kind'][] = ['text', 'rect', 'ellipse', 'line'];

/** The name of a pattern; undefined for one that comes from elsewhere. */
export function patternOf(dashes: readonly number[]): keyof typeof PATTERNS | undefined {
  const text = dashes.join(' ');
  return (['solid', 'dashed', 'dotted'] as const).find((name) => PATTERNS[name].join(' ') === text);
}

/** The shape from which somebody begins. */
export function usualShape(kind: DrawnShape['kind']): DrawnShape {
  const ink = { fill: '#ffffff', fillOpacity: 0, stroke: '#4a5568', strokeWidth: 2, dashes: [] };
  switch (kind) {
    case 'text':
      return {
        ...{
          kind,
          ...ink,
          fill: '#000000',
          fillOpacity: 1,
          stroke: undefined,
          strokeWidth: 1,
          x: 0,
          y: 0,
          lines: [''],
          size: 16,
          family: '',
        },
        ...{ isBold: false, isItalic: false, isUnderlined: false },
      };
    case 'rect':
      return { kind, ...ink, x: 0, y: 0, width: 200, height: 120, radius: 0 };
    case 'ellipse':
      return { kind, ...ink, cx: 100, cy: 60, rx: 100, ry: 60 };
    case 'line':
      return { kind, ...ink, x1: 0, y1: 0, x2: 200, y2: 0 };
  }
}

/** A word for what a picture is. */
export function kindOfPicture({ shapes }: Picture): Shape['kind'] {
  return shapes.length === 1 ? (shapes[0]?.kind ?? 'image') : 'image';
}
