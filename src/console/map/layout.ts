/**
 * Places nodes so that linked ones are near each other and no two are on the same place. It begins with the places that
 * they have, works in short turns, and never longer than it may.
 */
import type { Scene } from './scene.js';

/** The distance that linked nodes come to have. */
const APART = 130;
/** Nodes farther than this from each other do not keep apart. */
const REACH = 3 * APART;
const MOST_TURNS = 300;
/** Cells are numbered by a pair of small integers. */
const ROW = 1 << 16;

export interface Placed {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

export class Layout {
  readonly #scene: Scene;
  /** The indexes of the nodes that may move. */
  readonly #moving: readonly number[];
  readonly #x: Float64Array;
  readonly #y: Float64Array;
  readonly #towardX: Float64Array;
  readonly #towardY: Float64Array;
  #turn = 0;

  /** Locked nodes stay. The others keep away from them, and from all nodes that are not among the ids. */
  constructor(scene: Scene, ids: ReadonlySet<string>) {
    const count = scene.nodes.length;
    this.#scene = scene;
    this.#moving = scene.nodes.flatMap(({ id, isLocked }, index) =>
      ids.has(id) && !isLocked ? [index] : [],
    );
    this.#x = scene.x.slice(0, count);
    this.#y = scene.y.slice(0, count);
    this.#towardX = new Float64Array(count);
    this.#towardY = new Float64Array(count);
    // Nodes on one place have no direction in which they could part.
    for (const index of this.#moving) {
      this.#x[index] = (this.#x[index] ?? 0) + 8 * Math.cos(2.4 * index);
      this.#y[index] = (this.#y[index] ?? 0) + 8 * Math.sin(2.4 * index);
    }
  }

  /** Does a turn; returns whether there are more. */
  advance(): boolean {
    this.#towardX.fill(0);
    this.#towardY.fill(0);
    this.#part();
    this.#join();
    const farthest = APART * (1 - this.#turn / MOST_TURNS);
    for (const index of this.#moving) {
      const [dx, dy] = [this.#towardX[index] ?? 0, this.#towardY[index] ?? 0];
      const length = Math.hypot(dx, dy);
      if (length === 0) continue;
      const share = Math.min(length, farthest) / length;
      this.#x[index] = (this.#x[index] ?? 0) + dx * share;
      this.#y[index] = (this.#y[index] ?? 0) + dy * share;
    }
    return ++this.#turn < MOST_TURNS && this.#moving.length > 1;
  }

  /** The upper left corners of the nodes, around the same middle as before. */
  places(): Placed[] {
    const { nodes, x, y } = this.#scene;
    const count = this.#moving.length;
    const isWhole = count === nodes.length;
    const drift = (before: Float64Array, now: Float64Array): number =>
      isWhole
        ? this.#moving.reduce((sum, index) => sum + (before[index] ?? 0) - (now[index] ?? 0), 0) / count
        : 0;
    const [dx, dy] = [drift(x, this.#x), drift(y, this.#y)];
    return this.#moving.flatMap((index) => {
      const node = nodes[index];
      if (node === undefined) return [];
      return [
        {
          id: node.id,
          x: Math.round((this.#x[index] ?? 0) + dx - node.width / 2),
          y: Math.round((this.#y[index] ?? 0) + dy - node.height / 2),
        },
      ];
    });
  }

  /** Near nodes push each other away, by the square of the distance that they ought to have. */
  #part(): void {
    const cells = new Map<number, number[]>();
    const keyOf = (x: number, y: number): number => Math.floor(y / REACH) * ROW + Math.floor(x / REACH);
    for (let index = 0; index < this.#x.length; index++) {
      const key = keyOf(this.#x[index] ?? 0, this.#y[index] ?? 0);
      const cell = cells.get(key);
      if (cell === undefined) cells.set(key, [index]);
      else cell.push(index);
    }
    for (const index of this.#moving) {
      const [x, y] = [this.#x[index] ?? 0, this.#y[index] ?? 0];
      const key = keyOf(x, y);
      for (const row of [-ROW, 0, ROW])
        for (let column = -1; column <= 1; column++)
          for (const other of cells.get(key + row + column) ?? []) this.#push(index, other, x, y);
    }
  }

  #push(index: number, other: number, x: number, y: number): void {
    if (index === other) return;
    const [dx, dy] = [x - (this.#x[other] ?? 0), y - (this.#y[other] ?? 0)];
    const square = Math.max(1, dx * dx + dy * dy);
    if (square > REACH * REACH) return;
    this.#towardX[index] = (this.#towardX[index] ?? 0) + (dx / square) * APART * APART;
    this.#towardY[index] = (this.#towardY[index] ?? 0) + (dy / square) * APART * APART;
  }

  /** Links pull their nodes together, the more the longer they are. */
  #join(): void {
    const { first, second, links } = this.#scene;
    for (let link = 0; link < links.length; link++) {
      const [a, b] = [first[link] ?? 0, second[link] ?? 0];
      const [dx, dy] = [(this.#x[b] ?? 0) - (this.#x[a] ?? 0), (this.#y[b] ?? 0) - (this.#y[a] ?? 0)];
      const pull = Math.hypot(dx, dy) / APART;
      this.#towardX[a] = (this.#towardX[a] ?? 0) + dx * pull;
      this.#towardY[a] = (this.#towardY[a] ?? 0) + dy * pull;
      this.#towardX[b] = (this.#towardX[b] ?? 0) - dx * pull;
      this.#towardY[b] = (this.#towardY[b] ?? 0) - dy * pull;
    }
  }
}
