/** Paints notes and drawings: shapes by the canvas, pictures as images, in which nothing runs. */
import type { Colours } from './colours.js';
import { covers, drawingBox, type DrawingFacts } from './drawings.js';
import { Images } from './images.js';
import { Ink } from './ink.js';
import { lineHeight, textRoom, type Shape, type TextShape } from './picture.js';
import { gripOf, sizedShape } from './stretching.js';
import type { View } from './view.js';

/** Text that is lower on the screen is not written. */
const LEAST_TEXT = 3;
const FRAME = [7, 4];
const GRIP = 10;

interface Chosen {
  readonly selected: ReadonlySet<string>;
  readonly focused: string | undefined;
  /** Whether the only one that is selected has a grip. */
  readonly hasGrip: boolean;
}

type Context = CanvasRenderingContext2D;

export class DrawingPainter {
  readonly #images: Images;
  readonly #ink = new Ink();

  /** `loaded` is called when an image has come. */
  constructor(loaded: () => void) {
    this.#images = new Images(loaded);
  }

  /** Paints those of `all` that are wanted, in this order. */
  paint(
    context: Context,
    all: readonly DrawingFacts[],
    isWanted: (drawing: DrawingFacts) => boolean,
    view: View,
    colours: Colours,
    chosen: Chosen,
  ): void {
    for (const [index, drawing] of all.entries()) {
      if (!isWanted(drawing) || !isSeen(drawing, view)) continue;
      context.save();
      context.translate(view.toScreenX(drawing.x), view.toScreenY(drawing.y));
      context.rotate((drawing.rotation * Math.PI) / 180);
      context.scale(view.zoom, view.zoom);
      const ground = (x: number, y: number): string => groundOf(all, index, x, y) ?? colours.ground;
      for (const shape of drawing.picture.shapes)
        this.#paintShape(context, drawing, shape, view, colours, ground);
      if (drawing.picture.shapes.length === 0) frame(context, drawing, view, colours.edge, 1, 0);
      if (chosen.selected.has(drawing.id)) frame(context, drawing, view, colours.accent, 2, 4);
      if (drawing.id === chosen.focused) frame(context, drawing, view, colours.text, 1, 7);
      if (chosen.hasGrip && chosen.selected.size === 1 && chosen.selected.has(drawing.id))
        grip(context, drawing, view, colours.accent);
      context.restore();
    }
  }

  #paintShape(
    context: Context,
    drawing: DrawingFacts,
    shape: Shape,
    { zoom }: View,
    colours: Colours,
    ground: (x: number, y: number) => string,
  ): void {
    if (shape.kind === 'image') {
      const image = this.#images.at(shape.source);
      if (image !== undefined) context.drawImage(image, shape.x, shape.y, shape.width, shape.height);
      return;
    }
    if (shape.kind === 'text') {
      if (shape.size * zoom < LEAST_TEXT) return;
      const [width, height] = textRoom(shape);
      const under = ground(drawing.x + width / 2, drawing.y + height / 2);
      context.fillStyle = this.#ink.readable(context, shape.fill ?? 'black', under, colours.text);
      write(context, shape);
      return;
    }
    context.beginPath();
    if (shape.kind === 'rect') context.roundRect(shape.x, shape.y, shape.width, shape.height, shape.radius);
    else if (shape.kind === 'ellipse')
      context.ellipse(shape.cx, shape.cy, shape.rx, shape.ry, 0, 0, 2 * Math.PI);
    else {
      context.moveTo(shape.x1, shape.y1);
      context.lineTo(shape.x2, shape.y2);
    }
    if (shape.kind !== 'line' && shape.fill !== undefined) {
      context.globalAlpha = shape.fillOpacity;
      context.fillStyle = shape.fill;
      context.fill();
      context.globalAlpha = 1;
    }
    if (shape.stroke === undefined || shape.strokeWidth === 0) return;
    context.strokeStyle = this.#ink.visible(
      context,
      shape.stroke,
      ground(drawing.x, drawing.y),
      colours.edge,
    );
    context.lineWidth = shape.strokeWidth;
    context.setLineDash([...shape.dashes]);
    context.stroke();
  }
}

function write(context: Context, shape: TextShape): void {
  const { lines, x, y, size, family, isBold, isItalic, isUnderlined } = shape;
  const fonts = family === '' ? 'sans-serif' : `"${family}", sans-serif`;
  context.font = `${isItalic ? 'italic ' : ''}${isBold ? 'bold ' : ''}${size}px ${fonts}`;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  for (const [index, line] of lines.entries()) {
    const top = y + index * lineHeight(size);
    context.fillText(line, x, top);
    if (isUnderlined)
      context.fillRect(x, top + size, context.measureText(line).width, Math.max(1, size / 14));
  }
}

function grip(context: Context, drawing: DrawingFacts, { zoom }: View, colour: string): void {
  const shape = sizedShape(drawing);
  if (shape === undefined) return;
  const [[x, y], side] = [gripOf(shape), GRIP / zoom];
  context.fillStyle = colour;
  context.fillRect(x - side / 2, y - side / 2, side, side);
}

/** A frame around a drawing, so many pixels away from it. */
function frame(
  context: Context,
  { picture: { left, top, width, height } }: DrawingFacts,
  { zoom }: View,
  colour: string,
  thickness: number,
  away: number,
): void {
  const far = away / zoom;
  context.strokeStyle = colour;
  context.lineWidth = thickness / zoom;
  context.setLineDash(thickness === 1 ? FRAME.map((length) => length / zoom) : []);
  context.strokeRect(left - far, top - far, width + 2 * far, height + 2 * far);
  context.setLineDash([]);
}

function isSeen(drawing: DrawingFacts, view: View): boolean {
  const [left, top, right, bottom] = drawingBox(drawing);
  const margin = 20 / view.zoom;
  return (
    view.toScreenX(right + margin) > 0 &&
    view.toScreenX(left - margin) < view.width &&
    view.toScreenY(bottom + margin) > 0 &&
    view.toScreenY(top - margin) < view.height
  );
}

/** So many drawings below one are looked at. */
const DEEPEST = 200;

/** The colour on which the drawing at this index lies; undefined for that of the map. */
function groundOf(all: readonly DrawingFacts[], index: number, x: number, y: number): string | undefined {
  for (let below = index - 1; below >= 0 && below >= index - DEEPEST; below--) {
    const drawing = all[below];
    const colour = drawing === undefined ? undefined : covers(drawing, x, y);
    if (colour !== undefined) return colour;
  }
  return undefined;
}
