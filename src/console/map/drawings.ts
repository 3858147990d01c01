/** The notes and drawings of a lab, from the lowest to the highest. */
import type { DrawingShape } from '../../api/shapes/drawings.js';
import { pictureOf, textRoom, type Picture, type Shape } from './picture.js';
import { kindOfPicture } from './picture-source.js';

export interface DrawingFacts {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly z: number;
  /** In degrees, around the upper left corner. */
  readonly rotation: number;
  readonly isLocked: boolean;
  readonly svg: string;
  readonly picture: Picture;
}

type Box = readonly [left: number, top: number, right: number, bottom: number];

/** Nodes and links lie on this layer: what is on it, or below it, lies behind them. */
export const NODE_LAYER = 1;

export class Drawings {
  readonly #byId = new Map<string, DrawingFacts>();
  #sorted: readonly DrawingFacts[] | undefined;

  get all(): readonly DrawingFacts[] {
    this.#sorted ??= [...this.#byId.values()].sort((a, b) => a.z - b.z);
    return this.#sorted;
  }

  get(id: string): DrawingFacts | undefined {
    return this.#byId.get(id);
  }

  put(drawing: DrawingFacts): void {
    this.#byId.set(drawing.id, drawing);
    this.#sorted = undefined;
  }

  remove(id: string): void {
    this.#byId.delete(id);
    this.#sorted = undefined;
  }

  replace(drawings: readonly DrawingFacts[]): void {
    this.#byId.clear();
    for (const drawing of drawings) this.put(drawing);
    this.#sorted = undefined;
  }

  /** The uppermost at this place; of a figure without a colour inside, its edge alone. */
  at(x: number, y: number, reach: number): DrawingFacts | undefined {
    return this.all.findLast((drawing) => isMet(drawing, x, y, reach));
  }
}

/** An event tells a picture only when it has changed. Undefined when it is not known either. */
export function drawingFacts(
  told: Omit<DrawingShape, 'svg'> & { readonly svg?: string },
  known?: DrawingFacts,
): DrawingFacts | undefined {
  const svg = told.svg ?? known?.svg;
  if (svg === undefined) return undefined;
  const { drawing_id: id, x, y, z, rotation, locked: isLocked } = told;
  const picture = known?.svg === svg ? known.picture : pictureOf(svg);
  return { id, x, y, z, rotation, isLocked, svg, picture };
}

/** The edges of a drawing as it lies. */
export function drawingBox({ x, y, rotation, picture: { left, top, width, height } }: DrawingFacts): Box {
  const corners = [
    [left, top],
    [left + width, top],
    [left, top + height],
    [left + width, top + height],
  ].map(([across = 0, down = 0]) => turned(across, down, rotation));
  const [xs, ys] = [corners.map(([right]) => right), corners.map(([, below]) => below)];
  return [x + Math.min(...xs), y + Math.min(...ys), x + Math.max(...xs), y + Math.max(...ys)];
}

/** The place of a point of the map in the picture of a drawing. */
export function placeIn(
  { x, y, rotation }: DrawingFacts,
  atX: number,
  atY: number,
): readonly [number, number] {
  return turned(atX - x, atY - y, -rotation);
}

/** The place on the map of a point of the picture. */
export function placeOf(
  { x, y, rotation }: DrawingFacts,
  across: number,
  down: number,
): readonly [number, number] {
  const [right, below] = turned(across, down, rotation);
  return [x + right, y + below];
}

function turned(x: number, y: number, degrees: number): readonly [x: number, y: number] {
  if (degrees === 0) return [x, y];
  const angle = (degrees * Math.PI) / 180;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [x * cos - y * sin, x * sin + y * cos];
}

/** Whether a drawing hides what is below it there. */
export function covers(drawing: DrawingFacts, x: number, y: number): string | undefined {
  const [across, down] = placeIn(drawing, x, y);
  for (const shape of drawing.picture.shapes) {
    if (shape.kind !== 'rect' && shape.kind !== 'ellipse') continue;
    if (shape.fill !== undefined && shape.fillOpacity > 0.5 && isInside(shape, across, down, 0))
      return shape.fill;
  }
  return undefined;
}

function isMet(drawing: DrawingFacts, x: number, y: number, reach: number): boolean {
  const { picture } = drawing;
  const [across, down] = placeIn(drawing, x, y);
  if (picture.shapes.some((shape) => isOn(shape, across, down, reach))) return true;
  // A picture that is not shown has a frame instead.
  const { width, height } = picture;
  return picture.shapes.length === 0 && across >= 0 && down >= 0 && across <= width && down <= height;
}

function isOn(shape: Shape, x: number, y: number, reach: number): boolean {
  switch (shape.kind) {
    case 'line': {
      const { x1, y1, x2, y2, strokeWidth } = shape;
      const [dx, dy] = [x2 - x1, y2 - y1];
      const share = ((x - x1) * dx + (y - y1) * dy) / Math.max(1, dx * dx + dy * dy);
      const along = Math.min(1, Math.max(0, share));
      return Math.hypot(x1 + along * dx - x, y1 + along * dy - y) <= reach + strokeWidth / 2;
    }
    case 'rect':
    case 'ellipse': {
      const far = reach + shape.strokeWidth / 2;
      if (!isInside(shape, x, y, far)) return false;
      return (shape.fill !== undefined && shape.fillOpacity > 0) || !isInside(shape, x, y, -far);
    }
    case 'text': {
      const { x: left, y: top } = shape;
      const [width, height] = textRoom(shape);
      return x >= left && y >= top && x <= left + width && y <= top + height;
    }
    case 'image':
      return x >= shape.x && y >= shape.y && x <= shape.x + shape.width && y <= shape.y + shape.height;
  }
}

/** Whether a place is inside of the edge, which is moved outwards by so much. */
function isInside(
  shape: Extract<Shape, { kind: 'rect' | 'ellipse' }>,
  x: number,
  y: number,
  by: number,
): boolean {
  if (shape.kind === 'rect') {
    const { x: left, y: top, width, height } = shape;
    return x >= left - by && y >= top - by && x <= left + width + by && y <= top + height + by;
  }
  const [rx, ry] = [shape.rx + by, shape.ry + by];
  return rx > 0 && ry > 0 && Math.hypot((x - shape.cx) / rx, (y - shape.cy) / ry) <= 1;
}

const LONGEST_NAME = 60;

/** A name for people: of a note its first words, of others what they are. */
export function drawingName(
  { picture }: DrawingFacts,
  kinds: Readonly<Record<Shape['kind'], string>>,
): string {
  const kind = kindOfPicture(picture);
  const [shape] = picture.shapes;
  if (kind !== 'text' || shape?.kind !== 'text') return kinds[kind];
  const words = shape.lines.map((line) => line.trim()).find((line) => line !== '') ?? '';
  return `${kinds.text}: ${words.slice(0, LONGEST_NAME)}`;
}
