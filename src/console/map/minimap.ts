/** The whole lab in a corner, with a frame around the part that is seen. */
import type { Colours } from './colours.js';
import type { Scene } from './scene.js';
import type { View } from './view.js';

export function paintMinimap(canvas: HTMLCanvasElement, scene: Scene, view: View, colours: Colours): void {
  const context = canvas.getContext('2d', { alpha: false });
  const bounds = scene.bounds();
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
  context.strokeStyle = colours.accent;
  context.strokeRect(
    (view.toWorldX(0) - left) * across,
    (view.toWorldY(0) - top) * down,
    (view.width / view.zoom) * across,
    (view.height / view.zoom) * down,
  );
}
