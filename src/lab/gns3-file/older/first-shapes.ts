/** The ellipses, rectangles, notes and images of GNS3 1 as drawings. Pure. */
import { z } from 'zod';
import { coordinate } from '../topology-schema.js';
import { fontOf, paintOf } from './first-fonts.js';

/** Coordinates had fractions. */
export const firstPlace = z.number().min(-1_000_000_000).max(1_000_000_000);

const LARGEST_SIDE = 100_000;
const LONGEST_NOTE = 65_536;
const place = { x: firstPlace, y: firstPlace, z: firstPlace.default(0), rotation: firstPlace.default(0) };
const side = z.number().min(0).max(LARGEST_SIDE);
const color = z.string().max(64);
const shape = z.object({
  ...place,
  width: side,
  height: side,
  color: color.optional(),
  border_color: color.optional(),
  border_style: coordinate.default(0),
  border_width: z.number().min(0).max(LARGEST_SIDE).default(2),
});

export const firstShapes = {
  ellipses: z.array(shape).default([]),
  rectangles: z.array(shape).default([]),
  notes: z
    .array(
      z.object({
        ...place,
        text: z.string().max(LONGEST_NOTE),
        font: z.string().max(255).optional(),
        color: color.optional(),
      }),
    )
    .default([]),
  images: z.array(z.object({ ...place, path: z.string().max(4096) })).default([]),
};

type Shape = z.output<typeof shape>;
type Shapes = z.output<z.ZodObject<typeof firstShapes>>;
type Placed = Pick<Shape, 'x' | 'y' | 'z' | 'rotation'>;

/** The dashes of the styles of Qt's pens; 0 is a solid line, 1 is none. */
const DASHES: Readonly<Record<number, string>> = {
  2: '25, 25',
  3: '5, 25',
  4: '5, 25, 25',
  5: '25, 25, 5, 25, 5',
};
const NO_BORDER = 1;

export function convertedShapes({ ellipses, notes, images, rectangles }: Shapes): object[] {
  return [
    ...ellipses.map((each) => ({ ...placed(each), svg: ellipse(each) })),
    ...notes.map((each) => ({ ...placed(each), svg: note(each) })),
    // Its picture is read from the folders of pictures, never from elsewhere on this machine.
    ...images.map((each) => ({ ...placed(each), svg: each.path.split(/[/\\]/).at(-1) ?? '' })),
    ...rectangles.map((each) => ({ ...placed(each), svg: rectangle(each) })),
  ];
}

/** As the reference escapes, for text and for values between quotation marks. */
export function escaped(value: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#x27;',
  };
  return value.replace(/[&<>"']/g, (character) => names[character] ?? character);
}

function placed({ x, y, z, rotation }: Placed): object {
  return { x: Math.trunc(x), y: Math.trunc(y), z: Math.trunc(z), rotation: Math.trunc(rotation) % 360 };
}

function ellipse(shape: Shape): string {
  const half = { x: Math.trunc(shape.width / 2), y: Math.trunc(shape.height / 2) };
  return inSvg(
    shape,
    `<ellipse cx="${half.x}" cy="${half.y}" ${fillOf(shape)} rx="${half.x}" ry="${half.y}" ${border(shape)} />`,
  );
}

function rectangle(shape: Shape): string {
  return inSvg(shape, `<rect ${fillOf(shape)} ${sides(shape)} ${border(shape)} />`);
}

function note({ text, font, color }: Shapes['notes'][number]): string {
  const { family, size, isBold, isItalic } = fontOf(font);
  const { fill, opacity } = paintOf(color);
  const look =
    `fill="${fill}" fill-opacity="${opacity}" font-family="${family}" font-size="${size}" ` +
    `font-weight="${isBold ? 'bold' : 'normal'}" font-style="${isItalic ? 'italic' : 'normal'}"`;
  return inSvg({ width: size * text.length, height: size * 2 }, `<text ${look}>${escaped(text)}</text>`);
}

function inSvg(size: Pick<Shape, 'width' | 'height'>, content: string): string {
  return `<svg ${sides(size)}>${content}</svg>`;
}

function sides({ width, height }: Pick<Shape, 'width' | 'height'>): string {
  return `height="${Math.trunc(height)}" width="${Math.trunc(width)}"`;
}

function fillOf({ color = '#ffffff' }: Shape): string {
  return `fill="${escaped(color)}" fill-opacity="1.0"`;
}

function border({
  border_style: style,
  border_color: color = '#000000',
  border_width: width,
}: Shape): string {
  if (style === NO_BORDER) return '';
  const dashes = DASHES[style];
  return (
    (dashes === undefined ? '' : `stroke-dasharray="${dashes}" `) +
    `stroke="${escaped(color)}" stroke-width="${width}"`
  );
}
