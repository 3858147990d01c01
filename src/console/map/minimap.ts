/** The whole lab in a corner, with a frame around the part that is seen. */
import type { Colours } from './colours.js';
import type { Scene } from './scene.js';
import type { View } from './view.js';

type Bounds = NonNullable<ReturnType<Scene['bounds']>>;

export class Minimap {
  /** The nodes, as of a revision of the scene, in these colours. */
  #picture:
    | {
        readonly canvas: HTMLCanvasElement;
        readonly revision: number;
        readonly colours: Colours;
        readonly bounds: Bounds | undefined;
      }
    | undefined;

  paint(canvas: HTMLCanvasElement, scene: Scene, view: View, colours: Colours): void {
    const context = canvas.getContext('2d', { alpha: false });
    if (context === null) return;
    const { width, height } = canvas;
    if (this.#picture?.revision !== scene.revision || this.#picture.colours !== colours) {
      const picture = this.#picture?.canvas ?? document.createElement('canvas');
      const bounds = scene.bounds();
      Object.assign(picture, { width, height });
      paintNodes(picture, scene, bounds, colours);
      this.#picture = { canvas: picture, revision: scene.revision, colours, bounds };
    }
    const { canvas: picture, bounds } = this.#picture;
    context.drawImage(picture, 0, 0);
    if (bounds === undefined) return;
    const [left, top, right, bottom] = bounds;
    const across = width / Math.max(1, right - left);
    const down = height / Math.max(1, bottom - top);
    context.strokeStyle = colours.accent;
    context.strokeRect(
      (view.toWorldX(0) - left) * across,
      (view.toWorldY(0) - top) * down,
      (view.width / view.zoom) * across,
      (view.height / view.zoom) * down,
    );
  }
}

function paintNodes(
  canvas: HTMLCanvasElement,
  scene: Scene,
  bounds: Bounds | undefined,
  colours: Colours,
): void {
  const context = canvas.getContext('2d', { alpha: false });
  if (context === null) return;
  const { width, height } = canvas;
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, width, height);
  if (bounds === undefined) return;
  const [left, top, right, bottom] = bounds;
  const across = width / Math.max(1, right - left);
  const down = height / Math.max(1, bottom - top);
  context.fillStyle = colours.edge;
  for (let index = 0; index < scene.nodes.length; index++)
    context.fillRect(
      ((scene.x[index] ?? 0) - left) * across - 1,
      ((scene.y[index] ?? 0) - top) * down - 1,
      2,
      2,
    );
}
