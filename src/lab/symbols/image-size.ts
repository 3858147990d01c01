/** Reads the size of a picture from its head: SVG, PNG, GIF, JPEG, BMP or WebP. Undefined when that is not possible. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

type Bitmap = 'image/bmp' | 'image/gif' | 'image/jpeg' | 'image/png' | 'image/webp';

const LARGEST = 100_000;
/** The size of an SVG is in its first tag. Limits of where that begins, and of its length. */
const SVG_HEAD = 64 * 1024;
const LONGEST_TAG = 4096;
const SVG_TAG = '<svg';

/** Whether the file name is that of a picture. */
export function isPictureName(name: string): boolean {
  return /\.(svg|png|gif|jpe?g)$/i.test(name) && !name.startsWith('.');
}

/** The media type of a bitmap, by its first bytes; undefined for anything else. */
export function bitmapType(bytes: Buffer): Bitmap | undefined {
  const head = bytes.toString('latin1', 0, 12);
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('GIF')) return 'image/gif';
  if (head.startsWith('\xff\xd8')) return 'image/jpeg';
  if (head.startsWith('BM')) return 'image/bmp';
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : undefined;
}

const BITMAP_SIZES: Readonly<Record<Bitmap, (bytes: Buffer) => ImageSize | undefined>> = {
  'image/bmp': bmpSize,
  'image/gif': gifSize,
  'image/jpeg': jpegSize,
  'image/png': pngSize,
  'image/webp': webpSize,
};

export function imageSize(bytes: Buffer): ImageSize | undefined {
  const type = bitmapType(bytes);
  const size = type === undefined ? svgSize(bytes.toString('utf8', 0, SVG_HEAD)) : BITMAP_SIZES[type](bytes);
  if (size === undefined || !isSide(size.width) || !isSide(size.height)) return undefined;
  return { width: Math.round(size.width), height: Math.round(size.height) };
}

const isSide = (side: number): boolean => side >= 1 && side <= LARGEST;

function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 10) return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** A head of 12 bytes has short sides, the others long ones; the rows of a negative height begin at the top. */
function bmpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 26) return undefined;
  if (bytes.readUInt32LE(14) === 12) return { width: bytes.readUInt16LE(18), height: bytes.readUInt16LE(20) };
  return { width: bytes.readInt32LE(18), height: Math.abs(bytes.readInt32LE(22)) };
}

/** The first chunk is a lossy frame, a lossless one, or the head of a file with more chunks. */
function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const sides = bytes.readUInt32LE(21);
      return { width: (sides & 0x3fff) + 1, height: ((sides >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Walks the segments to the frame header, whose marker is C0 to CF but for three tables. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  let offset = 2;
  while (offset + 9 <= bytes.length && bytes[offset] === 0xff) {
    const marker = bytes[offset + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) };
    offset += 2 + bytes.readUInt16BE(offset + 2);
  }
  return undefined;
}

/** Widths without a unit or in pixels; failing these, the view box. */
function svgSize(text: string): ImageSize | undefined {
  const start = text.indexOf(SVG_TAG);
  const rest = start < 0 ? '' : text.slice(start + SVG_TAG.length, start + LONGEST_TAG);
  const end = rest.indexOf('>');
  if (end < 0) return undefined;
  const tag = rest.slice(0, end);
  const width = pixels(/\swidth\s*=\s*["']([^"']*)["']/.exec(tag)?.[1]);
  const height = pixels(/\sheight\s*=\s*["']([^"']*)["']/.exec(tag)?.[1]);
  if (width !== undefined && height !== undefined) return { width, height };
  const box = /\sviewBox\s*=\s*["']([^"']*)["']/
    .exec(tag)?.[1]
    ?.trim()
    .split(/[\s,]+/)
    .map(Number);
  const [, , boxWidth, boxHeight] = box ?? [];
  if (boxWidth === undefined || boxHeight === undefined) return undefined;
  return { width: boxWidth, height: boxHeight };
}

function pixels(length: string | undefined): number | undefined {
  const number = /^\s*(\d+(?:\.\d+)?)(?:px)?\s*$/.exec(length ?? '')?.[1];
  return number === undefined ? undefined : Number(number);
}
