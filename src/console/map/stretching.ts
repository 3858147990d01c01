/** Drawings that are made larger and smaller by their grip. */
import type { DrawingFacts } from './drawings.js';
import { onlyShape, type DrawnShape } from './picture-source.js';

export type SizedShape = Exclude<DrawnShape, { kind: 'text' }>;

const LEAST = 1;

/** The shape that the grip of a drawing stretches. Notes are as large as their letters. */
export function sizedShape({ isLocked, picture }: DrawingFacts): SizedShape | undefined {
  const shape = isLocked ? undefined : onlyShape(picture);
  return shape === undefined || shape.kind === 'text' ? undefined : shape;
}

/** The place of the grip in the picture: the end of a line, the lower right corner of other shapes. */
export function gripOf(shape: SizedShape): readonly [x: number, y: number] {
  switch (shape.kind) {
    case 'line':
      return [shape.x2, shape.y2];
    case 'ellipse':
      return [shape.cx + shape.rx, shape.cy + shape.ry];
    case 'rect':
      return [shape.x + shape.width, shape.y + shape.height];
  }
}

/** The shape with its grip at this place. */
export function stretched(shape: SizedShape, x: number, y: number): SizedShape {
  if (shape.kind === 'line') return { ...shape, x2: Math.round(x), y2: Math.round(y) };
  const [left, top] = shape.kind === 'rect' ? [shape.x, shape.y] : [shape.cx - shape.rx, shape.cy - shape.ry];
  const [width, height] = [x - left, y - top].map((length) => Math.max(LEAST, Math.round(length))) as [
    number,
    number,
  ];
  if (shape.kind === 'rect') return { ...shape, width, height };
  const [rx, ry] = [width / 2, height / 2];
  return { ...shape, cx: left + rx, cy: top + ry, rx, ry };
}
