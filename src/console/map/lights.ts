/** The states of nodes: a triangle for one that runs, two bars for one that is suspended, a square for one that does not run. */
import type { Colours } from './colours.js';
import type { NodeFacts } from './scene.js';

/** Places on the screen, two numbers each. */
type Places = Readonly<Record<NodeFacts['status'], readonly number[]>>;

const RADIUS = 8;

const SHAPES: Readonly<
  Record<
    NodeFacts['status'],
    {
      readonly colour: 'good' | 'warn' | 'muted';
      readonly draw: (context: CanvasRenderingContext2D, x: number, y: number, size: number) => void;
    }
  >
> = {
  started: {
    colour: 'good',
    draw: (context, x, y, size) => {
      context.moveTo(x - 3.5 * size, y - 5 * size);
      context.lineTo(x + 5 * size, y);
      context.lineTo(x - 3.5 * size, y + 5 * size);
    },
  },
  suspended: {
    colour: 'warn',
    draw: (context, x, y, size) => {
      context.rect(x - 4 * size, y - 4 * size, 3 * size, 8 * size);
      context.rect(x + size, y - 4 * size, 3 * size, 8 * size);
    },
  },
  stopped: {
    colour: 'muted',
    draw: (context, x, y, size) => {
      context.rect(x - 4 * size, y - 4 * size, 8 * size, 8 * size);
    },
  },
};

/**
 * Paints all that are alike at once: thousands of strokes of their own cost more than all else of the map. `size` is 1 for lights of
 * their whole size.
 */
export function paintLights(
  context: CanvasRenderingContext2D,
  places: Places,
  colours: Colours,
  size: number,
): void {
  const radius = RADIUS * size;
  const each = (at: readonly number[], draw: (x: number, y: number) => void): void => {
    for (let index = 0; index < at.length; index += 2) draw(at[index] ?? 0, at[index + 1] ?? 0);
  };
  context.fillStyle = colours.ground;
  context.beginPath();
  for (const at of Object.values(places))
    each(at, (x, y) => {
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    });
  context.fill();
  for (const [status, { colour, draw }] of Object.entries(SHAPES)) {
    context.fillStyle = colours[colour];
    context.beginPath();
    each(places[status as NodeFacts['status']], (x, y) => {
      draw(context, x, y, size);
    });
    context.fill();
  }
}
