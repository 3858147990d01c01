/** The pictures of drawings as shapes that the map paints itself, read from the SVG of strangers. */
import { svgTags, type SvgTag } from './svg-tags.js';

interface Ink {
  readonly fill: string | undefined;
  readonly fillOpacity: number;
  readonly stroke: string | undefined;
  readonly strokeWidth: number;
  readonly dashes: readonly number[];
}

export interface TextShape extends Ink {
  readonly kind: 'text';
  readonly x: number;
  readonly y: number;
  readonly lines: readonly string[];
  /** In pixels. */
  readonly size: number;
  readonly family: string;
  readonly isBold: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
}

export interface RectShape extends Ink {
  readonly kind: 'rect';
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly radius: number;
}

export interface EllipseShape extends Ink {
  readonly kind: 'ellipse';
  readonly cx: number;
  readonly cy: number;
  readonly rx: number;
  readonly ry: number;
}

export interface LineShape extends Ink {
  readonly kind: 'line';
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** A bitmap, or an SVG that is more than these shapes: the browser makes an image of it, in which nothing runs. */
interface ImageShape {
  readonly kind: 'image';
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly source: string;
}

export type Shape = TextShape | RectShape | EllipseShape | LineShape | ImageShape;

export interface Picture {
  /** The upper left corner: lines may lead to the left and up. */
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

const MOST_SHAPES = 200;
/** Each part hands its styles on to those in it. */
const DEEPEST = 64;
const MOST_LINES = 200;
const LONGEST_LINE = 500;
const LONGEST_IMAGE = 4 * 1024 * 1024;
const FARTHEST = 100_000;
const LARGEST_TEXT = 500;
/** Sizes of text are written in points. */
const PIXELS_OF_POINT = 4 / 3;
const USUAL_POINTS = 10;
const LINE_HEIGHT = 1.25;
/** The mean width of a letter, in sizes of the text. */
const LETTER = 0.6;
const BITMAP = /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,/i;
const COLOUR = /^(?:#(?:[\da-f]{3}|[\da-f]{6}|[\da-f]{8})|[a-z]{3,24})$/i;
/** Parts that hold others, and parts that are not seen. */
const FRAMES = new Set(['svg', 'g', 'tspan', 'a']);
const UNSEEN = new Set(['title', 'desc', 'metadata']);
/** With one of these a picture is no image either: it could run, load, move, or grow beyond all measure. */
const REFUSED = new Set([
  ...['script', 'foreignobject', 'iframe', 'use', 'filter', 'pattern', 'mask', 'set', 'discard'],
  ...['animate', 'animatetransform', 'animatemotion', 'animatecolor', 'handler', 'listener', 'feimage'],
]);

type Styles = ReadonlyMap<string, string>;

/** Reads any text. */
export function pictureOf(svg: string): Picture {
  return new PictureReader(svg).read();
}

class PictureReader {
  readonly #svg: string;
  readonly #shapes: Shape[] = [];
  readonly #styles: Styles[] = [];
  #width = 0;
  #height = 0;
  #words: string[] | undefined;
  #text: SvgTag['attributes'] | undefined;
  /** How deep the reader is in parts that are not seen. */
  #unseen = 0;
  #isMore = false;
  #isRefused: boolean;

  constructor(svg: string) {
    this.#svg = svg;
    this.#isRefused = svg.includes('<!ENTITY');
  }

  read(): Picture {
    let isFirst = true;
    for (const part of svgTags(this.#svg)) {
      if (typeof part === 'string') {
        if (this.#unseen === 0) this.#words?.push(part);
      } else if (part.kind === 'end') {
        this.#leave(part.name);
      } else {
        if (isFirst) this.#measure(part);
        isFirst = false;
        this.#enter(part);
      }
      if (this.#shapes.length >= MOST_SHAPES || this.#styles.length > DEEPEST) break;
    }
    this.#leave('text');
    const shapes = this.#isMore ? this.#image() : this.#shapes;
    const [only] = shapes;
    if (shapes.length === 1 && only?.kind === 'line') {
      const { x1, y1, x2, y2 } = only;
      const [left, top] = [Math.min(x1, x2), Math.min(y1, y2)];
      return { left, top, width: Math.abs(x2 - x1), height: Math.abs(y2 - y1), shapes };
    }
    const [width, height] = [this.#width || extent(shapes, 0), this.#height || extent(shapes, 1)];
    return { left: 0, top: 0, width, height, shapes };
  }

  #measure({ attributes }: SvgTag): void {
    this.#width = numberOf(attributes.get('width'), 0, 0);
    this.#height = numberOf(attributes.get('height'), 0, 0);
  }

  #image(): Shape[] {
    if (this.#isRefused || this.#svg.length > LONGEST_IMAGE) return [];
    const [width, height] = [this.#width || 100, this.#height || 100];
    return [{ kind: 'image', x: 0, y: 0, width, height, source: this.#svg }];
  }

  #enter(tag: SvgTag): void {
    const { name, kind } = tag;
    if (REFUSED.has(name.toLowerCase())) this.#isRefused = true;
    if (this.#unseen > 0 || UNSEEN.has(name)) {
      if (kind === 'start') this.#unseen++;
      return;
    }
    const styles = new Map([...(this.#styles.at(-1) ?? []), ...stylesOf(tag)]);
    if (kind === 'start') this.#styles.push(styles);
    if (tag.attributes.has('transform') || tag.attributes.has('viewBox')) this.#isMore = true;
    if (name === 'text') {
      this.#words = [];
      this.#text = styles;
      if (kind === 'empty') this.#leave('text');
      return;
    }
    const shape = shapeOf(name, styles);
    if (shape !== undefined) this.#shapes.push(shape);
    else if (!FRAMES.has(name)) this.#isMore = true;
  }

  #leave(name: string): void {
    if (this.#unseen > 0) {
      this.#unseen--;
      return;
    }
    this.#styles.pop();
    if (name !== 'text' || this.#words === undefined || this.#text === undefined) return;
    const text = textShape(this.#words.join(''), this.#text);
    if (text !== undefined) this.#shapes.push(text);
    this.#words = undefined;
  }
}

/** The attributes of a tag; those of `style` are as good as others. */
function stylesOf({ attributes }: SvgTag): Styles {
  const style = attributes.get('style');
  if (style === undefined) return attributes;
  const styles = new Map(attributes);
  for (const declaration of style.slice(0, 2000).split(';')) {
    const colon = declaration.indexOf(':');
    if (colon > 0) styles.set(declaration.slice(0, colon).trim(), declaration.slice(colon + 1).trim());
  }
  return styles;
}

function shapeOf(name: string, styles: Styles): Shape | undefined {
  const number = (key: string, other = 0): number => numberOf(styles.get(key), other);
  const ink = inkOf(styles);
  switch (name) {
    case 'rect': {
      const radius = Math.max(0, number('rx', number('ry')));
      return { kind: 'rect', ...ink, ...boxIn(styles), radius };
    }
    case 'ellipse':
    case 'circle': {
      const [rx, ry] = name === 'circle' ? [number('r'), number('r')] : [number('rx'), number('ry')];
      return {
        ...{ kind: 'ellipse', ...ink, cx: number('cx'), cy: number('cy') },
        ...{ rx: Math.abs(rx), ry: Math.abs(ry) },
      };
    }
    case 'line':
      return {
        ...{ kind: 'line', ...ink, x1: number('x1'), y1: number('y1') },
        ...{ x2: number('x2'), y2: number('y2') },
      };
    case 'image': {
      const source = styles.get('href') ?? '';
      const isShown = BITMAP.test(source) && source.length <= LONGEST_IMAGE;
      return { kind: 'image', ...boxIn(styles), source: isShown ? source : '' };
    }
    default:
      return undefined;
  }
}

/** Line breaks are those of the text, as GNS3 writes them. Undefined for a text that says nothing. */
function textShape(words: string, styles: Styles): TextShape | undefined {
  const lines = words
    .split(/\r\n|\r|\n/)
    .slice(0, MOST_LINES)
    .map((line) => line.slice(0, LONGEST_LINE));
  if (lines.every((line) => line.trim() === '')) return undefined;
  const given = styles.get('font-size') ?? '';
  const amount = numberOf(given, USUAL_POINTS, 1, LARGEST_TEXT);
  const size = given.endsWith('px') ? amount : amount * PIXELS_OF_POINT;
  const weight = styles.get('font-weight') ?? '';
  return {
    ...{ kind: 'text', ...inkOf(styles), lines, size },
    x: numberOf(styles.get('x'), 0),
    // A place that is given is that of the letters' feet.
    y: styles.has('y') ? numberOf(styles.get('y'), 0) - size : 0,
    family: familyOf(styles.get('font-family') ?? ''),
    isBold: weight.startsWith('bold') || Number(weight) >= 600,
    isItalic: ['italic', 'oblique'].includes(styles.get('font-style') ?? ''),
    isUnderlined: styles.get('text-decoration')?.includes('underline') === true,
  };
}

/** The room that a text takes, by the number of its letters. */
export function textRoom({
  lines,
  size,
}: Pick<TextShape, 'lines' | 'size'>): [width: number, height: number] {
  const longest = Math.max(...lines.map(({ length }) => length));
  return [Math.ceil(longest * size * LETTER), Math.ceil(lines.length * lineHeight(size))];
}

export function lineHeight(size: number): number {
  return size * LINE_HEIGHT;
}

function inkOf(styles: Styles): Ink {
  const dashes = (styles.get('stroke-dasharray') ?? '')
    .slice(0, 200)
    .split(/[\s,]+/)
    .map((text) => numberOf(text, -1, -1, 1000))
    .filter((length) => length >= 0)
    .slice(0, 8);
  return {
    fill: colourOf(styles.get('fill') ?? 'black'),
    fillOpacity: numberOf(styles.get('fill-opacity'), 1, 0, 1),
    stroke: colourOf(styles.get('stroke') ?? 'none'),
    strokeWidth: numberOf(styles.get('stroke-width'), 1, 0, 500),
    dashes: dashes.some((length) => length > 0) ? dashes : [],
  };
}

function boxIn(styles: Styles): Pick<RectShape, 'x' | 'y' | 'width' | 'height'> {
  return {
    x: numberOf(styles.get('x'), 0),
    y: numberOf(styles.get('y'), 0),
    width: numberOf(styles.get('width'), 0, 0),
    height: numberOf(styles.get('height'), 0, 0),
  };
}

function numberOf(text: string | undefined, other: number, least = -FARTHEST, most = FARTHEST): number {
  const number = Number.parseFloat(text ?? '');
  return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : other;
}

function colourOf(text: string): string | undefined {
  const colour = text.trim();
  if (colour === 'none' || colour === 'transparent') return undefined;
  return COLOUR.test(colour) ? colour : 'black';
}

function familyOf(text: string): string {
  return text.replaceAll(/[^\w .-]/g, '').slice(0, 64);
}

function extent(shapes: readonly Shape[], axis: 0 | 1): number {
  return Math.max(1, ...shapes.map((shape) => cornerOf(shape)[axis]));
}

function cornerOf(shape: Shape): readonly [x: number, y: number] {
  switch (shape.kind) {
    case 'line':
      return [Math.max(shape.x1, shape.x2), Math.max(shape.y1, shape.y2)];
    case 'ellipse':
      return [shape.cx + shape.rx, shape.cy + shape.ry];
    case 'text': {
      const [width, height] = textRoom(shape);
      return [shape.x + width, shape.y + height];
    }
    case 'rect':
    case 'image':
      return [shape.x + shape.width, shape.y + shape.height];
  }
}
