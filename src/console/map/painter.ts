/** Paints a scene: links in batches of one stroke each, nodes, and words where there is room for them. */
import { BEND } from './hit-test.js';
import type { Colours } from './colours.js';
import type { DrawingPainter } from './drawing-painter.js';
import { NODE_LAYER } from './drawings.js';
import { Room } from './room.js';
import type { Layer } from './layers.js';
import { paintLights } from './lights.js';
import type { NodeFacts, Scene } from './scene.js';
import type { Symbols } from './symbols.js';
import type { View } from './view.js';
import { badgeOf } from './words.js';

const NAMES_FROM = 0.45;
const SYMBOLS_FROM = 0.12;
/** Lights have their whole size from a zoom of 0.6 on. */
const LIGHTS_GROW = 1 / 0.6;
const FONT = '12px system-ui, sans-serif';
const LINE = 14;
/** Less room than a node has is kept for it, since room is counted in coarse steps. */
const NAME_GAP = 6;
/** Badges stand on their link, or above, or below; a little higher where the coarse steps of the room ask for it. */
const BADGE_SHIFTS = [0, -20, -24, 20];
/** Links are that wide, by the logarithm of their octets a second. */
const WIDTHS = [1, 1.5, 2.2, 3, 4, 5.5];
/** Ports are written so far from the middle of their node. */
const PORT_FROM = 52;
/** Corners of nodes reach farther than their sides. */
const PORT_SHIFTS = [1, 1.3];
/** The distance of the lines of the grid, and the least on the screen. */
const GRID = 75;
const LEAST_GRID = 12;
const DASHED = [7, 4];
const DOTTED = [2, 4];

/** The parts of the picture that are not the lab's. */
export interface Overlay {
  readonly selected: ReadonlySet<string>;
  readonly layers: ReadonlySet<Layer>;
  /** The node, link or drawing that keys act on. */
  readonly focused: string | undefined;
  readonly hasGrip: boolean;
  /** A frame that selects, in pixels. */
  readonly frame: readonly [left: number, top: number, right: number, bottom: number] | undefined;
  /** From this node a link is being drawn to this place of the screen. */
  readonly linking: { readonly from: string; readonly x: number; readonly y: number } | undefined;
}

/** In these colours, with these symbols. */
export interface Look {
  readonly colours: Colours;
  readonly symbols: Symbols;
}

type Context = CanvasRenderingContext2D;
/** Something that is painted step by step, each much shorter than a frame. */
type Steps = Generator<void, void, void>;

/** So many nodes, links or words are painted in a step. */
const AT_ONCE = 64;

export class Painter {
  readonly #drawings: DrawingPainter;
  readonly #room = new Room();
  readonly #widths = new Map<string, number>();
  #groups = new Uint8Array(0);
  /** The words of links, as of a revision of the scene. */
  #badges: (string | undefined)[] = [];
  #badgesOf = -1;
  #badgesIn: ReadonlySet<Layer> | undefined;
  /** The ends of links on the screen, four numbers each. */
  #lines = new Float64Array(0);

  constructor(drawings: DrawingPainter) {
    this.#drawings = drawings;
  }

  paint(context: Context, scene: Scene, view: View, look: Look, overlay: Overlay): void {
    const steps = this.steps(context, scene, view, look, overlay);
    while (steps.next().done !== true);
  }

  /** Paints in steps. A scene that changes between them is to be painted from the begin. */
  *steps(context: Context, scene: Scene, view: View, { colours, symbols }: Look, overlay: Overlay): Steps {
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, view.width, view.height);
    context.font = FONT;
    this.#room.reset(view.width, view.height);
    const { layers } = overlay;
    if (layers.has('grid')) paintGrid(context, view, colours);
    const drawings = layers.has('drawings') ? scene.drawings.all : [];
    this.#drawings.paint(context, drawings, ({ z }) => z <= NODE_LAYER, view, colours, overlay);
    yield* this.#paintLinks(context, scene, view, colours, overlay);
    yield* this.#paintNodes(context, scene, view, { colours, symbols }, overlay);
    this.#drawings.paint(context, drawings, ({ z }) => z > NODE_LAYER, view, colours, overlay);
    if (view.zoom >= NAMES_FROM) {
      context.textAlign = 'center';
      context.textBaseline = 'top';
      if (layers.has('names')) yield* this.#writeNames(context, scene, view, colours);
      yield* this.#writeBadges(context, scene, colours, layers);
      if (layers.has('ports')) yield* this.#writePorts(context, scene, view, colours);
    }
    paintOverlay(context, scene, view, colours, overlay);
  }

  *#paintLinks(context: Context, scene: Scene, view: View, colours: Colours, { selected }: Overlay): Steps {
    const count = scene.links.length;
    if (this.#groups.length < count) {
      this.#groups = new Uint8Array(2 * count);
      this.#lines = new Float64Array(8 * count);
    }
    for (let link = 0; link < count; link++) this.#groups[link] = this.#placeLine(scene, view, link);
    yield;
    for (let group = 1; group <= WIDTHS.length; group++) {
      const colour = group > 1 ? colours.busy : colours.link;
      yield* this.#stroke(context, count, group, WIDTHS[group - 1] ?? 1, colour, []);
    }
    yield* this.#stroke(context, count, STILL, 1.5, colours.muted, DOTTED);
    yield* this.#stroke(context, count, DROPPING, 2.2, colours.warn, DASHED);
    if (selected.size === 0) return;
    context.beginPath();
    for (let link = 0; link < count; link++)
      if (this.#groups[link] !== 0 && selected.has(scene.links[link]?.id ?? '')) this.#trace(context, link);
    context.strokeStyle = colours.accent;
    context.lineWidth = 4;
    context.stroke();
  }

  /** Puts the line of a link on the screen; returns its group, or 0 when it is not seen. */
  #placeLine(scene: Scene, view: View, link: number): number {
    const [a, b] = [scene.first[link] ?? 0, scene.second[link] ?? 0];
    let [ax, ay] = [view.toScreenX(scene.x[a] ?? 0), view.toScreenY(scene.y[a] ?? 0)];
    let [bx, by] = [view.toScreenX(scene.x[b] ?? 0), view.toScreenY(scene.y[b] ?? 0)];
    if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > view.width) return 0;
    if (Math.max(ay, by) < 0 || Math.min(ay, by) > view.height) return 0;
    const bend = scene.bend[link] ?? 0;
    if (bend !== 0) {
      const length = Math.hypot(bx - ax, by - ay) || 1;
      const aside = (bend * BEND * view.zoom) / length;
      const [dx, dy] = [-(by - ay) * aside, (bx - ax) * aside];
      [ax, ay, bx, by] = [ax + dx, ay + dy, bx + dx, by + dy];
    }
    this.#lines.set([ax, ay, bx, by], 4 * link);
    if (scene.links[link]?.isSuspended === true) return STILL;
    if (scene.dropRateOf(link) > 0) return DROPPING;
    const octets = scene.rateOf(link, 1) + scene.rateOf(link, 3);
    return 1 + Math.min(WIDTHS.length - 1, Math.ceil(Math.log10(1 + octets / 100)));
  }

  *#stroke(
    context: Context,
    count: number,
    group: number,
    width: number,
    colour: string,
    dashes: number[],
  ): Steps {
    for (let link = 0; link < count;) {
      context.beginPath();
      let traced = 0;
      for (; link < count && traced < AT_ONCE; link++) {
        if (this.#groups[link] !== group) continue;
        this.#trace(context, link);
        traced++;
      }
      if (traced === 0) return;
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dashes);
      context.stroke();
      context.setLineDash([]);
      yield;
    }
  }

  #trace(context: Context, link: number): void {
    context.moveTo(this.#lines[4 * link] ?? 0, this.#lines[4 * link + 1] ?? 0);
    context.lineTo(this.#lines[4 * link + 2] ?? 0, this.#lines[4 * link + 3] ?? 0);
  }

  *#paintNodes(
    context: Context,
    scene: Scene,
    view: View,
    { colours, symbols }: Look,
    { selected, focused }: Overlay,
  ): Steps {
    for (const [index, node] of scene.nodes.entries()) {
      if (index % AT_ONCE === 0) yield;
      const box = boxOf(node, view);
      if (box === undefined) continue;
      const [left, top, width, height] = box;
      if (selected.has(node.id)) {
        context.fillStyle = colours.chosen;
        context.fillRect(left - 4, top - 4, width + 8, height + 8);
        context.strokeStyle = colours.accent;
        context.lineWidth = 2;
        context.strokeRect(left - 4, top - 4, width + 8, height + 8);
      }
      if (node.id === focused) {
        context.setLineDash(DASHED);
        context.strokeStyle = colours.text;
        context.lineWidth = 1;
        context.strokeRect(left - 7, top - 7, width + 14, height + 14);
        context.setLineDash([]);
      }
      const picture = view.zoom < SYMBOLS_FROM ? undefined : symbols.at(node.symbol, width, height);
      if (picture === undefined) {
        context.fillStyle = colours.edge;
        context.fillRect(left, top, Math.max(2, width), Math.max(2, height));
      } else {
        context.drawImage(picture, left, top, width, height);
      }
      // A name stands right below.
      this.#room.take(left, top, width, Math.max(0, height - NAME_GAP));
    }
    if (view.zoom >= SYMBOLS_FROM) yield* this.#light(context, scene, view, colours);
  }

  /** Lights lie above all nodes. From afar they shrink, so that the links can be seen. */
  *#light(context: Context, scene: Scene, view: View, colours: Colours): Steps {
    const size = Math.min(1, view.zoom * LIGHTS_GROW);
    const corners: Record<NodeFacts['status'], number[]> = { started: [], stopped: [], suspended: [] };
    const paint = (): void => {
      paintLights(context, corners, colours, size);
      for (const places of Object.values(corners)) places.length = 0;
    };
    for (const [index, node] of scene.nodes.entries()) {
      const [left, top, width, height] = boxOf(node, view) ?? [];
      if (left !== undefined && top !== undefined)
        corners[node.status].push(left + (width ?? 0) - 4 * size, top + (height ?? 0) - 4 * size);
      if (index % AT_ONCE !== AT_ONCE - 1) continue;
      paint();
      yield;
    }
    paint();
  }

  *#writeNames(context: Context, scene: Scene, view: View, colours: Colours): Steps {
    for (const [index, node] of scene.nodes.entries()) {
      if (index % AT_ONCE === 0) yield;
      const box = boxOf(node, view);
      if (box === undefined) continue;
      const [left, top, width, height] = box;
      this.#write(context, node.name, left + width / 2, top + height + 3, colours.text, colours.ground);
    }
  }

  *#writeBadges(context: Context, scene: Scene, colours: Colours, layers: ReadonlySet<Layer>): Steps {
    if (this.#badgesOf !== scene.revision || this.#badgesIn !== layers) {
      this.#badgesIn = layers;
      this.#badges = [];
      this.#badgesOf = scene.revision;
    }
    const lines = this.#lines;
    for (const [index, link] of scene.links.entries()) {
      if (index % AT_ONCE === 0) yield;
      if (this.#groups[index] === 0) continue;
      const words = (this.#badges[index] ??= badgeOf(scene, index, link, layers));
      if (words === '') continue;
      const at = 4 * index;
      const middle = ((lines[at] ?? 0) + (lines[at + 2] ?? 0)) / 2;
      const top = ((lines[at + 1] ?? 0) + (lines[at + 3] ?? 0) - LINE) / 2;
      BADGE_SHIFTS.some((shift) =>
        this.#write(context, words, middle, top + shift, colours.muted, colours.ground),
      );
    }
  }

  /** The ports of links, at their ends. */
  *#writePorts(context: Context, scene: Scene, view: View, colours: Colours): Steps {
    for (const [index, { ends }] of scene.links.entries()) {
      if (index % AT_ONCE === 0) yield;
      if (this.#groups[index] === 0) continue;
      const [ax = 0, ay = 0, bx = 0, by = 0] = this.#lines.subarray(4 * index, 4 * index + 4);
      const share = Math.min(0.4, (PORT_FROM * view.zoom) / Math.max(1, Math.hypot(bx - ax, by - ay)));
      for (const [end, { adapter, port }] of ends.entries()) {
        PORT_SHIFTS.some((shift) => {
          const along = end === 0 ? shift * share : 1 - shift * share;
          const [x, y] = [ax + along * (bx - ax), ay + along * (by - ay) - LINE / 2];
          return this.#write(context, `${adapter}/${port}`, x, y, colours.muted, colours.ground);
        });
      }
    }
  }

  /** Writes if nothing is there. */
  #write(
    context: Context,
    text: string,
    middle: number,
    top: number,
    colour: string,
    ground: string,
  ): boolean {
    let width = this.#widths.get(text);
    if (width === undefined) {
      // Words that change all the time would fill the memory.
      if (this.#widths.size > 20_000) this.#widths.clear();
      width = context.measureText(text).width;
      this.#widths.set(text, width);
    }
    if (!this.#room.take(middle - width / 2 - 2, top, width + 4, LINE)) return false;
    context.fillStyle = ground;
    context.fillRect(middle - width / 2 - 2, top, width + 4, LINE);
    context.fillStyle = colour;
    context.fillText(text, middle, top + 1);
    return true;
  }
}

const STILL = WIDTHS.length + 1;
const DROPPING = WIDTHS.length + 2;

function boxOf(
  { x, y, width, height }: NodeFacts,
  view: View,
): readonly [left: number, top: number, width: number, height: number] | undefined {
  const [left, top] = [view.toScreenX(x), view.toScreenY(y)];
  const [across, down] = [width * view.zoom, height * view.zoom];
  const isSeen = left < view.width && top < view.height && left + across > 0 && top + down > 0;
  return isSeen ? [left, top, across, down] : undefined;
}

function paintGrid(context: Context, view: View, colours: Colours): void {
  let apart = GRID;
  while (apart * view.zoom < LEAST_GRID) apart *= 2;
  context.beginPath();
  for (let x = Math.ceil(view.toWorldX(0) / apart) * apart; view.toScreenX(x) < view.width; x += apart) {
    context.moveTo(view.toScreenX(x), 0);
    context.lineTo(view.toScreenX(x), view.height);
  }
  for (let y = Math.ceil(view.toWorldY(0) / apart) * apart; view.toScreenY(y) < view.height; y += apart) {
    context.moveTo(0, view.toScreenY(y));
    context.lineTo(view.width, view.toScreenY(y));
  }
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.stroke();
}

function paintOverlay(context: Context, scene: Scene, view: View, colours: Colours, overlay: Overlay): void {
  const { frame, linking } = overlay;
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.setLineDash(DASHED);
  if (frame !== undefined) {
    const [left, top, right, bottom] = frame;
    context.strokeRect(left, top, right - left, bottom - top);
  }
  const from = linking === undefined ? undefined : scene.nodeIndex(linking.from);
  if (linking !== undefined && from !== undefined) {
    context.beginPath();
    context.moveTo(view.toScreenX(scene.x[from] ?? 0), view.toScreenY(scene.y[from] ?? 0));
    context.lineTo(linking.x, linking.y);
    context.stroke();
  }
  context.setLineDash([]);
}
