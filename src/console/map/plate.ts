/**
 * Shows a large map while it is panned and zoomed: from a picture of it, the plate, which is moved or scaled. The next plate
 * is painted meanwhile, some of it in each frame, and the map itself when the movement rests.
 */
import type { DrawingPainter } from './drawing-painter.js';
import { Painter, type Look, type Overlay } from './painter.js';
import type { Scene } from './scene.js';
import { View } from './view.js';

/** Less is painted as fast as it is moved. */
const LEAST = 300;
/** Plates are larger than the screen, so that their edges come late. */
const MARGIN = 1.4;
/** A plate is scaled no more than that, and covers at least this part of the screen; otherwise the map itself is painted. */
const MOST_SCALED = 4;
const LEAST_COVERED = 0.3;
/** A plate that is scaled more, or does not cover the screen, or is older, is followed by another. */
const SCALED = 1.25;
const OLD_MS = 1000;
/** So much of the next plate is painted in a frame. */
const SLICE_MS = 1;

type Context = CanvasRenderingContext2D;

/** A picture of a part of the map. */
interface Plate {
  readonly context: Context;
  readonly view: View;
  readonly at: number;
}

export class PlatedPainter {
  readonly #painter: Painter;
  readonly #platePainter: Painter;
  #plate: Plate | undefined;
  #next: { readonly plate: Plate; readonly steps: Iterator<void> } | undefined;
  /** The canvases of plates, in turns. */
  readonly #contexts: Context[] = [];
  /** The last frame: what it had, and the part that it showed. */
  #last: { readonly content: readonly unknown[]; readonly view: View } | undefined;
  #isMoving = false;

  constructor(drawings: DrawingPainter) {
    this.#painter = new Painter(drawings);
    this.#platePainter = new Painter(drawings);
  }

  /** The movement is over: the next frame is painted as it is. */
  rest(): void {
    this.#isMoving = false;
    this.#forget();
  }

  /** Paints a frame; tells whether the map is moving, and is to be painted once more when it rests. `pictures` counts those that have come. */
  paint(
    context: Context,
    scene: Scene,
    view: View,
    look: Look,
    overlay: Overlay,
    pictures: number,
  ): 'moving' | 'resting' {
    const { selected, layers, focused, hasGrip, frame, linking } = overlay;
    const { width, height } = context.canvas;
    const content: readonly unknown[] = [
      ...[scene.revision, pictures, selected, layers, focused, hasGrip, frame, linking],
      ...[look.colours, width, height],
    ];
    const { content: before, view: shown } = this.#last ?? {};
    this.#last = { content, view: copyOf(view) };
    const isSame = before !== undefined && content.every((one, index) => one === before[index]);
    const hasMoved =
      shown !== undefined && (shown.x !== view.x || shown.y !== view.y || shown.zoom !== view.zoom);
    this.#isMoving =
      isSame && (this.#isMoving || hasMoved) && scene.nodes.length + scene.links.length >= LEAST;
    if (!isSame) this.#forget();
    if (this.#isMoving && shown !== undefined) this.#plate ??= this.#taken(context, shown);
    if (this.#isMoving && this.#plate !== undefined && isNear(this.#plate.view, view)) {
      this.#goOn(scene, view, look, { ...overlay, frame: undefined, linking: undefined });
      show(context, this.#plate, view, look.colours.ground);
      return 'moving';
    }
    this.#painter.paint(context, scene, view, look, overlay);
    // The frame that was painted just now is the plate of the next.
    this.#forget();
    return 'resting';
  }

  #forget(): void {
    if (this.#plate !== undefined) this.#contexts.push(this.#plate.context);
    this.#plate = undefined;
    this.#drop();
  }

  #drop(): void {
    if (this.#next !== undefined) this.#contexts.push(this.#next.plate.context);
    this.#next = undefined;
  }

  /** The last frame as a plate. */
  #taken(from: Context, view: View): Plate | undefined {
    const plate = this.#make(view);
    plate?.context.drawImage(from.canvas, 0, 0, view.width, view.height);
    return plate;
  }

  #make(view: View): Plate | undefined {
    const context = this.#contexts.pop() ?? newContext();
    if (context === null) return undefined;
    const [width, height] = [view.width, view.height].map((length) => Math.round(length * devicePixelRatio));
    if (context.canvas.width !== width) context.canvas.width = width ?? 1;
    if (context.canvas.height !== height) context.canvas.height = height ?? 1;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    return { context, view, at: performance.now() };
  }

  /** Begins the next plate when this one is to be followed, and paints a slice of it. */
  #goOn(scene: Scene, view: View, look: Look, overlay: Overlay): void {
    const { view: shown, at } = this.#plate ?? { view, at: 0 };
    if (this.#next === undefined) {
      const scale = view.zoom / shown.zoom;
      const isGood = scale < SCALED && scale > 1 / SCALED && coveredBy(shown, view) === 1;
      if (isGood && performance.now() - at < OLD_MS) return;
      const plate = this.#make(copyOf(view, MARGIN));
      if (plate === undefined) return;
      const steps = this.#platePainter.steps(plate.context, scene, plate.view, look, overlay);
      this.#next = { plate, steps };
    }
    const { plate, steps } = this.#next;
    const until = performance.now() + SLICE_MS;
    do {
      if (steps.next().done === true) {
        if (this.#plate !== undefined) this.#contexts.push(this.#plate.context);
        [this.#plate, this.#next] = [plate, undefined];
        return;
      }
      // Browsers put painting off; reading makes them do it now, so that no frame has all of it.
      plate.context.getImageData(0, 0, 1, 1);
    } while (performance.now() < until);
  }
}

function newContext(): Context | null {
  // Browsers with a GPU leave such a canvas to the processor, where slices cost what they cost here.
  return document.createElement('canvas').getContext('2d', { alpha: false, willReadFrequently: true });
}

function show(context: Context, { context: { canvas }, view: of }: Plate, view: View, ground: string): void {
  const scale = view.zoom / of.zoom;
  // Whole pixels are copied faster, and stay sharp.
  const place = (at: number): number =>
    scale === 1 ? Math.round(at * devicePixelRatio) / devicePixelRatio : at;
  const [left, top] = [place(view.toScreenX(of.toWorldX(0))), place(view.toScreenY(of.toWorldY(0)))];
  if (coveredBy(of, view) < 1) {
    context.fillStyle = ground;
    context.fillRect(0, 0, view.width, view.height);
  }
  context.drawImage(canvas, left, top, of.width * scale, of.height * scale);
}

function isNear(plate: View, view: View): boolean {
  const scale = view.zoom / plate.zoom;
  return scale < MOST_SCALED && scale > 1 / MOST_SCALED && coveredBy(plate, view) >= LEAST_COVERED;
}

/** The part of the view that a plate of the other covers, from 0 to 1. */
function coveredBy(plate: View, view: View): number {
  const across =
    Math.min(view.width, view.toScreenX(plate.toWorldX(plate.width))) -
    Math.max(0, view.toScreenX(plate.toWorldX(0)));
  const down =
    Math.min(view.height, view.toScreenY(plate.toWorldY(plate.height))) -
    Math.max(0, view.toScreenY(plate.toWorldY(0)));
  return (Math.max(0, across) * Math.max(0, down)) / (view.width * view.height);
}

/** The same part, or one that is larger by the factor around the same middle. */
function copyOf(view: View, factor = 1): View {
  const { x, y, zoom } = view;
  return Object.assign(new View(), {
    ...{ x, y, zoom },
    width: Math.round(view.width * factor),
    height: Math.round(view.height * factor),
  });
}
