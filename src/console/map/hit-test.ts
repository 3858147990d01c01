/** Finds what is at a place of the picture: nodes by a grid, links by their distance. */
import type { Scene } from './scene.js';

const CELL = 128;
/** Cells are numbered by a pair of small integers. */
const ROW = 1 << 20;

export class HitTest {
  readonly #scene: Scene;
  readonly #cells = new Map<number, number[]>();
  #revision = -1;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** The index of the uppermost node at this place. */
  nodeAt(x: number, y: number): number | undefined {
    this.#renew();
    const { nodes } = this.#scene;
    return this.#cells.get(cellOf(x, y))?.findLast((index) => {
      const node = nodes[index];
      return (
        node !== undefined &&
        x >= node.x &&
        y >= node.y &&
        x <= node.x + node.width &&
        y <= node.y + node.height
      );
    });
  }

  /** The index of the link that is nearest to this place, and not farther than `reach`. */
  linkAt(x: number, y: number, reach: number): number | undefined {
    const scene = this.#scene;
    let [nearest, best]: [number | undefined, number] = [undefined, reach];
    for (let index = 0; index < scene.links.length; index++) {
      const distance = distanceTo(scene, index, x, y);
      if (distance > best) continue;
      nearest = index;
      best = distance;
    }
    return nearest;
  }

  #renew(): void {
    if (this.#revision === this.#scene.revision) return;
    this.#revision = this.#scene.revision;
    this.#cells.clear();
    for (const [index, { x, y, width, height }] of this.#scene.nodes.entries()) {
      for (let row = Math.floor(y / CELL); row <= Math.floor((y + height) / CELL); row++) {
        for (let column = Math.floor(x / CELL); column <= Math.floor((x + width) / CELL); column++) {
          const cell = this.#cells.get(row * ROW + column);
          if (cell === undefined) this.#cells.set(row * ROW + column, [index]);
          else cell.push(index);
        }
      }
    }
  }
}

function cellOf(x: number, y: number): number {
  return Math.floor(y / CELL) * ROW + Math.floor(x / CELL);
}

/** The offset of a link from the straight line between its nodes. */
export const BEND = 14;

function distanceTo(scene: Scene, link: number, x: number, y: number): number {
  const [a, b] = [scene.first[link] ?? 0, scene.second[link] ?? 0];
  const [ax, ay, bx, by] = [scene.x[a] ?? 0, scene.y[a] ?? 0, scene.x[b] ?? 0, scene.y[b] ?? 0];
  const [dx, dy] = [bx - ax, by - ay];
  const length = Math.hypot(dx, dy);
  if (length === 0) return Infinity;
  const along = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (length * length)));
  const bend = BEND * (scene.bend[link] ?? 0);
  return Math.hypot(ax + along * dx - (bend * dy) / length - x, ay + along * dy + (bend * dx) / length - y);
}

/** The node that is next to another in a direction: near, and not far aside. */
export function neighbour(scene: Scene, from: number, dx: number, dy: number): number | undefined {
  const [x, y] = [scene.x[from] ?? 0, scene.y[from] ?? 0];
  let [nearest, best]: [number | undefined, number] = [undefined, Infinity];
  for (let index = 0; index < scene.nodes.length; index++) {
    const [across, down] = [(scene.x[index] ?? 0) - x, (scene.y[index] ?? 0) - y];
    const ahead = across * dx + down * dy;
    const aside = Math.abs(across * dy - down * dx);
    if (index === from || ahead <= 0 || aside > 2 * ahead) continue;
    const cost = ahead + 2 * aside;
    if (cost >= best) continue;
    nearest = index;
    best = cost;
  }
  return nearest;
}
