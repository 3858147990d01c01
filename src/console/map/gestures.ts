/** Gestures of a pointer on the map: choosing, moving, framing, panning, zooming with two fingers. */
import { mapLayers } from '../state/preferences.js';
import { placeIn, placeOf, type DrawingFacts } from './drawings.js';
import { HitTest } from './hit-test.js';
import type { LabMap } from './lab-map.js';
import { pictureOf } from './picture.js';
import { svgOf } from './picture-source.js';
import { gripOf, sizedShape, stretched, type SizedShape } from './stretching.js';
import type { View } from './view.js';

/** A pointer that moves less has clicked. */
const STILL = 4;
/** A link is met within so many pixels. */
const REACH = 7;
/** A grip is met within so many pixels. */
const GRIP_REACH = 10;

interface Place {
  readonly x: number;
  readonly y: number;
}

interface Outcome {
  /** Nodes have been moved by so much. */
  readonly moved: (ids: readonly string[], dx: number, dy: number) => void;
  /** A drawing has been stretched to this picture. */
  readonly stretched: (id: string, svg: string) => void;
  /** Paints again. */
  readonly changed: () => void;
  /** A node was chosen as the other end of a link. */
  readonly linked: (id: string) => void;
  /** Something was opened, by two clicks. */
  readonly opened: () => void;
}

type Doing =
  | { readonly what: 'nothing' }
  | { readonly what: 'pan'; last: Place }
  | {
      readonly what: 'frame';
      readonly start: Place;
      readonly before: ReadonlySet<string>;
      /** A locked drawing is chosen when the pointer does not move. */
      readonly locked: string | undefined;
    }
  | {
      readonly what: 'stretch';
      readonly start: Place;
      /** The drawing as it was. */
      readonly drawing: DrawingFacts;
      readonly shape: SizedShape;
      svg: string;
    }
  | { readonly what: 'move'; readonly start: Place; readonly ids: readonly string[]; dx: number; dy: number };

export class Gestures {
  readonly #lab: LabMap;
  readonly #view: View;
  readonly #outcome: Outcome;
  readonly #hits: HitTest;
  readonly #pointers = new Map<number, Place>();
  #doing: Doing = { what: 'nothing' };
  /** Whether the space bar makes the pointer pan. */
  pans = false;
  mayMove = true;
  frame: readonly [number, number, number, number] | undefined;
  linking: { readonly from: string; x: number; y: number } | undefined;

  constructor(lab: LabMap, view: View, outcome: Outcome) {
    this.#lab = lab;
    this.#view = view;
    this.#outcome = outcome;
    this.#hits = new HitTest(lab.scene);
  }

  down({ pointerId, button, ctrlKey, metaKey }: PointerEvent, at: Place): void {
    this.#pointers.set(pointerId, at);
    if (this.#pointers.size > 1 || button !== 0 || this.pans) {
      this.#takeBack();
      this.#doing = { what: 'pan', last: at };
      return;
    }
    const grip = this.#gripAt(at);
    if (grip !== undefined) {
      this.#doing = grip;
      return;
    }
    const id = this.#idAt(at);
    if (this.linking !== undefined) {
      if (id !== undefined && this.#lab.scene.nodeIndex(id) !== undefined) this.#outcome.linked(id);
      return;
    }
    const adds = ctrlKey || metaKey;
    const locked = this.#lab.scene.drawings.get(id ?? '')?.isLocked === true ? id : undefined;
    if (id === undefined || (locked !== undefined && !adds)) {
      const before = adds ? this.#lab.selected.value : new Set<string>();
      this.#doing = { what: 'frame', start: at, before, locked };
      return;
    }
    if (adds) {
      this.#lab.toggle(id);
      return;
    }
    if (!this.#lab.selected.value.has(id)) this.#lab.select([id]);
    const ids = this.mayMove ? this.#lab.movable : [];
    if (ids.includes(id)) this.#doing = { what: 'move', start: at, ids, dx: 0, dy: 0 };
  }

  move({ pointerId }: PointerEvent, at: Place): void {
    const before = this.#pointers.get(pointerId);
    if (this.linking !== undefined) {
      this.linking = { ...this.linking, ...at };
      this.#outcome.changed();
    }
    if (before === undefined) return;
    if (this.#pointers.size > 1) this.#pinch(pointerId, before, at);
    this.#pointers.set(pointerId, at);
    const doing = this.#doing;
    if (doing.what === 'pan' && this.#pointers.size === 1) {
      this.#view.pan(at.x - doing.last.x, at.y - doing.last.y);
      doing.last = at;
    } else if (doing.what === 'frame') {
      this.#frame(doing.start, at, doing.before);
    } else if (doing.what === 'stretch') {
      this.#stretch(doing, at);
    } else if (doing.what === 'move') {
      const [dx, dy] = [(at.x - doing.start.x) / this.#view.zoom, (at.y - doing.start.y) / this.#view.zoom];
      if (doing.dx === 0 && doing.dy === 0 && Math.hypot(dx, dy) * this.#view.zoom < STILL) return;
      this.#shift(doing.ids, dx - doing.dx, dy - doing.dy);
      doing.dx = dx;
      doing.dy = dy;
    }
    this.#outcome.changed();
  }

  up({ pointerId }: PointerEvent): void {
    this.#pointers.delete(pointerId);
    const doing = this.#doing;
    if (this.#pointers.size > 0) return;
    this.#doing = { what: 'nothing' };
    if (doing.what === 'frame') {
      if (this.frame === undefined)
        this.#lab.select(doing.locked === undefined ? doing.before : [doing.locked]);
      this.frame = undefined;
    } else if (doing.what === 'move' && (doing.dx !== 0 || doing.dy !== 0)) {
      // The move itself is a step, which begins where the nodes were.
      this.#shift(doing.ids, -doing.dx, -doing.dy);
      this.#outcome.moved(doing.ids, doing.dx, doing.dy);
    } else if (doing.what === 'stretch') {
      this.#lab.scene.putDrawing(doing.drawing);
      if (doing.svg !== doing.drawing.svg) this.#outcome.stretched(doing.drawing.id, doing.svg);
    }
    this.#outcome.changed();
  }

  cancel(): void {
    this.#pointers.clear();
    this.#takeBack();
    this.linking = undefined;
    this.#outcome.changed();
  }

  wheel({ deltaX, deltaY, deltaMode, ctrlKey, shiftKey }: WheelEvent, at: Place): void {
    const lines = deltaMode === 1 ? 16 : 1;
    if (shiftKey) this.#view.pan(-(deltaX + deltaY) * lines, 0);
    else this.#view.zoomAt(at.x, at.y, Math.exp(-deltaY * lines * (ctrlKey ? 0.01 : 0.0015)));
    this.#outcome.changed();
  }

  twice(at: Place): void {
    if (this.#idAt(at) !== undefined) this.#outcome.opened();
  }

  #idAt({ x, y }: Place): string | undefined {
    const [worldX, worldY] = [this.#view.toWorldX(x), this.#view.toWorldY(y)];
    const node = this.#hits.nodeAt(worldX, worldY);
    if (node !== undefined) return this.#lab.scene.nodes[node]?.id;
    const link = this.#hits.linkAt(worldX, worldY, REACH / this.#view.zoom);
    if (link !== undefined) return this.#lab.scene.links[link]?.id;
    // A pointer meets only what is shown.
    if (!mapLayers.value.has('drawings')) return undefined;
    return this.#lab.scene.drawings.at(worldX, worldY, REACH / this.#view.zoom)?.id;
  }

  /** The begin of stretching, when the only drawing that is selected has its grip there. */
  #gripAt(at: Place): Doing | undefined {
    const [id = '', ...more] = this.#lab.selected.value;
    const drawing = this.#lab.scene.drawings.get(id);
    if (drawing === undefined || more.length > 0 || !this.mayMove || !mapLayers.value.has('drawings'))
      return undefined;
    const shape = sizedShape(drawing);
    if (shape === undefined) return undefined;
    const [x, y] = placeOf(drawing, ...gripOf(shape));
    const isMet = distance(at, { x: this.#view.toScreenX(x), y: this.#view.toScreenY(y) }) <= GRIP_REACH;
    return isMet ? { what: 'stretch', start: at, drawing, shape, svg: drawing.svg } : undefined;
  }

  #stretch(doing: Extract<Doing, { what: 'stretch' }>, at: Place): void {
    const { start, drawing, shape } = doing;
    if (doing.svg === drawing.svg && distance(start, at) < STILL) return;
    const [from, to] = [start, at].map(({ x, y }) =>
      placeIn(drawing, this.#view.toWorldX(x), this.#view.toWorldY(y)),
    ) as [readonly [number, number], readonly [number, number]];
    const [x, y] = gripOf(shape);
    doing.svg = svgOf(stretched(shape, x + to[0] - from[0], y + to[1] - from[1]));
    this.#lab.scene.putDrawing({ ...drawing, svg: doing.svg, picture: pictureOf(doing.svg) });
  }

  #takeBack(): void {
    const doing = this.#doing;
    if (doing.what === 'move') this.#shift(doing.ids, -doing.dx, -doing.dy);
    if (doing.what === 'stretch') this.#lab.scene.putDrawing(doing.drawing);
    this.frame = undefined;
    this.#doing = { what: 'nothing' };
  }

  #shift(ids: readonly string[], dx: number, dy: number): void {
    for (const id of ids) this.#lab.scene.shift(id, dx, dy);
  }

  #frame(start: Place, at: Place, before: ReadonlySet<string>): void {
    if (this.frame === undefined && Math.hypot(at.x - start.x, at.y - start.y) < STILL) return;
    const [left, right] = [Math.min(start.x, at.x), Math.max(start.x, at.x)];
    const [top, bottom] = [Math.min(start.y, at.y), Math.max(start.y, at.y)];
    this.frame = [left, top, right, bottom];
    const { scene } = this.#lab;
    const view = this.#view;
    const met = scene.nodes.filter((_, index) => {
      const [x, y] = [view.toScreenX(scene.x[index] ?? 0), view.toScreenY(scene.y[index] ?? 0)];
      return x >= left && x <= right && y >= top && y <= bottom;
    });
    const shown = mapLayers.value.has('drawings') ? scene.drawings.all : [];
    const drawings = shown.filter(({ id, isLocked }) => {
      const [worldX = 0, worldY = 0] = scene.middleOf(id) ?? [];
      const [x, y] = [view.toScreenX(worldX), view.toScreenY(worldY)];
      return !isLocked && x >= left && x <= right && y >= top && y <= bottom;
    });
    this.#lab.select([...before, ...[...drawings, ...met].map(({ id }) => id)]);
  }

  /** Two fingers zoom and pan at once. */
  #pinch(pointerId: number, before: Place, at: Place): void {
    const other = [...this.#pointers].find(([id]) => id !== pointerId)?.[1];
    if (other === undefined) return;
    const [was, is] = [distance(before, other), distance(at, other)];
    this.#view.zoomAt((at.x + other.x) / 2, (at.y + other.y) / 2, is / Math.max(1, was));
    this.#view.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
  }
}

function distance(a: Place, b: Place): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
