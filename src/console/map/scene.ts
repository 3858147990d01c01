/**
 * The picture of a lab as numbers: where its nodes are, which nodes its links join, what passes them. Whatever is drawn many
 * times a second lies in typed arrays; the rest stands beside, at the same index.
 */

import { drawingBox, Drawings, type DrawingFacts } from './drawings.js';

export interface NodeFacts {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly status: 'stopped' | 'started' | 'suspended';
  readonly symbol: string;
  readonly consoleType: string | undefined;
  readonly isLocked: boolean;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface LinkEndFacts {
  readonly node: string;
  readonly adapter: number;
  readonly port: number;
}

type FilterSettings = Readonly<Record<string, unknown>>;

export interface LinkFacts {
  readonly id: string;
  readonly ends: readonly [LinkEndFacts, LinkEndFacts];
  readonly isSuspended: boolean;
  readonly isCapturing: boolean;
  readonly filters: FilterSettings;
  readonly forward: FilterSettings;
  readonly backward: FilterSettings;
}

/** Frames and octets a second each way, and drops a second by filters, by other causes, and between hosts. */
export const RATES = 7;

const ROOM = 64;

function grown<A extends Float64Array | Int32Array>(array: A, make: (length: number) => A, count: number): A {
  if (count <= array.length) return array;
  const next = make(Math.max(ROOM, 2 * count));
  next.set(array);
  return next;
}

const doubles = (length: number): Float64Array => new Float64Array(length);
const integers = (length: number): Int32Array => new Int32Array(length);

export class Scene {
  /** Counts changes: whoever has painted an older one paints again. */
  revision = 0;
  readonly nodes: NodeFacts[] = [];
  readonly drawings = new Drawings();
  /** The middle of each node. */
  x = doubles(ROOM);
  y = doubles(ROOM);
  readonly links: LinkFacts[] = [];
  /** The indexes of the nodes at the ends of each link. */
  first = integers(ROOM);
  second = integers(ROOM);
  /** How far a link keeps from the straight line, because others join the same nodes. */
  bend = doubles(ROOM);
  rates = doubles(ROOM * RATES);
  readonly #nodeAt = new Map<string, number>();
  readonly #linkAt = new Map<string, number>();

  /** Forgets nodes and links. */
  clear(): void {
    this.nodes.length = 0;
    this.links.length = 0;
    this.#nodeAt.clear();
    this.#linkAt.clear();
    this.revision++;
  }

  nodeIndex(id: string): number | undefined {
    return this.#nodeAt.get(id);
  }

  linkIndex(id: string): number | undefined {
    return this.#linkAt.get(id);
  }

  node(id: string): NodeFacts | undefined {
    const index = this.#nodeAt.get(id);
    return index === undefined ? undefined : this.nodes[index];
  }

  link(id: string): LinkFacts | undefined {
    const index = this.#linkAt.get(id);
    return index === undefined ? undefined : this.links[index];
  }

  putNode(node: NodeFacts): void {
    const index = this.#nodeAt.get(node.id) ?? this.nodes.length;
    this.nodes[index] = node;
    this.#nodeAt.set(node.id, index);
    this.x = grown(this.x, doubles, this.nodes.length);
    this.y = grown(this.y, doubles, this.nodes.length);
    this.x[index] = node.x + node.width / 2;
    this.y[index] = node.y + node.height / 2;
    this.revision++;
  }

  /** Moves a node or a drawing by so much from where it was put. */
  shift(id: string, dx: number, dy: number): void {
    const node = this.node(id);
    if (node !== undefined) this.putNode({ ...node, x: node.x + dx, y: node.y + dy });
    const drawing = this.drawings.get(id);
    if (drawing !== undefined) this.putDrawing({ ...drawing, x: drawing.x + dx, y: drawing.y + dy });
  }

  putDrawing(drawing: DrawingFacts): void {
    this.drawings.put(drawing);
    this.revision++;
  }

  removeDrawing(id: string): void {
    this.drawings.remove(id);
    this.revision++;
  }

  /** The middle of a node or a drawing. */
  middleOf(id: string): readonly [x: number, y: number] | undefined {
    const index = this.#nodeAt.get(id);
    if (index !== undefined) return [this.x[index] ?? 0, this.y[index] ?? 0];
    const drawing = this.drawings.get(id);
    if (drawing === undefined) return undefined;
    const [left, top, right, bottom] = drawingBox(drawing);
    return [(left + right) / 2, (top + bottom) / 2];
  }

  removeNode(id: string): void {
    const index = this.#nodeAt.get(id);
    if (index === undefined) return;
    for (const { id: linkId } of this.linksOf(id)) this.removeLink(linkId);
    this.#nodeAt.delete(id);
    const last = this.nodes.pop();
    this.revision++;
    if (last === undefined || last.id === id) return;
    this.nodes[index] = last;
    this.#nodeAt.set(last.id, index);
    this.x[index] = this.x[this.nodes.length] ?? 0;
    this.y[index] = this.y[this.nodes.length] ?? 0;
    this.#joinAgain();
  }

  /** Leaves out a link whose nodes are not there. */
  putLink(link: LinkFacts): void {
    const [a, b] = link.ends.map(({ node }) => this.#nodeAt.get(node));
    if (a === undefined || b === undefined) return;
    const known = this.#linkAt.get(link.id);
    const index = known ?? this.links.length;
    this.links[index] = link;
    this.#linkAt.set(link.id, index);
    const count = this.links.length;
    this.first = grown(this.first, integers, count);
    this.second = grown(this.second, integers, count);
    this.bend = grown(this.bend, doubles, count);
    this.rates = grown(this.rates, doubles, count * RATES);
    this.first[index] = a;
    this.second[index] = b;
    if (known === undefined) {
      this.rates.fill(0, index * RATES, (index + 1) * RATES);
      this.bend[index] = this.#bendOf(link);
    }
    this.revision++;
  }

  removeLink(id: string): void {
    const index = this.#linkAt.get(id);
    if (index === undefined) return;
    this.#linkAt.delete(id);
    const last = this.links.pop();
    this.revision++;
    if (last === undefined || last.id === id) return;
    this.links[index] = last;
    this.#linkAt.set(last.id, index);
    const from = this.links.length;
    this.first[index] = this.first[from] ?? 0;
    this.second[index] = this.second[from] ?? 0;
    this.bend[index] = this.bend[from] ?? 0;
    this.rates.copyWithin(index * RATES, from * RATES, (from + 1) * RATES);
  }

  linksOf(nodeId: string): LinkFacts[] {
    return this.links.filter(({ ends }) => ends.some(({ node }) => node === nodeId));
  }

  rateOf(link: number, column: number): number {
    return this.rates[link * RATES + column] ?? 0;
  }

  /** Drops a second by all causes. */
  dropRateOf(link: number): number {
    return this.rateOf(link, 4) + this.rateOf(link, 5) + this.rateOf(link, 6);
  }

  /** The edges of the picture; undefined when it is empty. */
  bounds(
    ids?: ReadonlySet<string>,
  ): readonly [left: number, top: number, right: number, bottom: number] | undefined {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { id, x, y, width, height } of this.nodes) {
      if (ids !== undefined && !ids.has(id)) continue;
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x + width);
      bottom = Math.max(bottom, y + height);
    }
    for (const drawing of this.drawings.all) {
      if (ids !== undefined && !ids.has(drawing.id)) continue;
      const box = drawingBox(drawing);
      [left, top] = [Math.min(left, box[0]), Math.min(top, box[1])];
      [right, bottom] = [Math.max(right, box[2]), Math.max(bottom, box[3])];
    }
    return left === Infinity ? undefined : [left, top, right, bottom];
  }

  /** Links between the same nodes lie beside each other: 0, 1, -1, 2, … */
  #bendOf({ id, ends: [a, b] }: LinkFacts): number {
    const taken = new Set<number>();
    for (const [index, other] of this.links.entries()) {
      const [c, d] = other.ends;
      if (other.id === id) continue;
      if (c.node === a.node && d.node === b.node) taken.add(this.bend[index] ?? 0);
      else if (c.node === b.node && d.node === a.node) taken.add(-(this.bend[index] ?? 0));
    }
    for (let step = 0; ; step = step > 0 ? -step : 1 - step) if (!taken.has(step)) return step;
  }

  #joinAgain(): void {
    for (const [index, { ends }] of this.links.entries()) {
      this.first[index] = this.#nodeAt.get(ends[0].node) ?? 0;
      this.second[index] = this.#nodeAt.get(ends[1].node) ?? 0;
    }
  }
}

/** The distance of new nodes from others. */
const APART = 90;

/** The place nearest to this one, in rows from it, where no node is. */
export function freePlace({ nodes }: Pick<Scene, 'nodes'>, x: number, y: number): [x: number, y: number] {
  const [left, top] = [Math.round(x), Math.round(y)];
  for (let place = 0; ; place++) {
    const [tryX, tryY] = [left + APART * (place % 5), top + APART * Math.floor(place / 5)];
    const isTaken = nodes.some((node) => Math.abs(node.x - tryX) < APART && Math.abs(node.y - tryY) < APART);
    if (!isTaken || place > nodes.length) return [tryX, tryY];
  }
}
