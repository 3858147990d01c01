/*
 * The body of a symbol, on which glyphs stand. The classic theme has slabs with a visible edge, round
 * bars for routers, screens for hosts and clouds; the affinity themes have a disc or a rounded square.
 * A surface fills the whole picture and names the area left for glyphs and the colour behind them.
 */
export interface Tint {
  readonly light: string;
  readonly base: string;
  readonly dark: string;
}

interface Surface {
  readonly body: string;
  /** Colour behind the glyphs, for the parts of a glyph that are carved out. */
  readonly ground: string;
  readonly area: Area;
}

export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** `gradientId` must be unique among the symbols that one page may inline together. */
export type BuildSurface = (width: number, height: number, tint: Tint, gradientId: string) => Surface;

const EDGE = 'stroke="#fff" stroke-opacity=".35" fill="none"';

function defineGradient(id: string, tint: Tint): string {
  return (
    `<defs><linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${tint.light}"/>` +
    `<stop offset="1" stop-color="${tint.base}"/></linearGradient></defs>`
  );
}

function drawBlock(area: Area, radius: number, paint: string): string {
  return `<rect x="${area.x}" y="${area.y}" width="${area.width}" height="${area.height}" rx="${radius}" ${paint}/>`;
}

function inset(area: Area, margin: number): Area {
  return {
    x: area.x + margin,
    y: area.y + margin,
    width: area.width - 2 * margin,
    height: area.height - 2 * margin,
  };
}

function buildTile(
  width: number,
  height: number,
  radius: number,
  depth: number,
  tint: Tint,
  gradientId: string,
): Surface {
  const face = { x: 0, y: 0, width, height: height - depth };
  const body =
    defineGradient(gradientId, tint) +
    drawBlock({ x: 0, y: depth, width, height: height - depth }, radius, `fill="${tint.dark}"`) +
    drawBlock(face, radius, `fill="url(#${gradientId})"`) +
    drawBlock(inset(face, 1), Math.max(radius - 1, 0), EDGE) +
    drawPorts(face);
  return { body, ground: tint.base, area: face };
}

/** Rows of sockets on both sides of the glyph, where a flat tile would otherwise look empty. */
function drawPorts(face: Area): string {
  if (face.width < face.height * 2.2) {
    return '';
  }
  const pitch = 6;
  const upper = face.height / 2 - 5;
  const sockets: string[] = [];
  for (const y of [upper, upper + pitch]) {
    for (const column of [0, 1, 2]) {
      const x = 5.5 + column * pitch;
      sockets.push(`M${x} ${y}h4v4h-4ZM${face.width - x} ${y}h-4v4h4Z`);
    }
  }
  return `<path d="${sockets.join('')}" fill="#fff" fill-opacity=".45"/>`;
}

export const buildSlab: BuildSurface = (width, height, tint, gradientId) =>
  buildTile(width, height, 6, Math.max(4, Math.round(height * 0.09)), tint, gradientId);

export const buildBar: BuildSurface = (width, height, tint, gradientId) => {
  const depth = Math.round(height * 0.12);
  return buildTile(width, height, (height - depth) / 2, depth, tint, gradientId);
};

export const buildScreen: BuildSurface = (width, height, tint, gradientId) => {
  const frame = { x: 0, y: 0, width, height: Math.round(height * 0.8) };
  const screen = inset(frame, 4);
  const middle = width / 2;
  const body =
    defineGradient(gradientId, tint) +
    `<path d="M${middle - 8} ${frame.height - 1}h16l3 ${height - frame.height - 3}h-22Z" fill="#5c6b7a"/>` +
    drawBlock({ x: middle - 20, y: height - 5, width: 40, height: 5 }, 2.5, 'fill="#344250"') +
    drawBlock(frame, 6, 'fill="#344250"') +
    drawBlock(inset(frame, 1), 5, EDGE) +
    drawBlock(screen, 3, `fill="url(#${gradientId})"`);
  return { body, ground: tint.base, area: screen };
};

export const buildCloud: BuildSurface = (width, height, tint, gradientId) => {
  const outline =
    'M21 64H133A22 22 0 0 0 139.5 21A30 30 0 0 0 97 12.500A37 37 0 0 0 37 20.500A22.5 22.5 0 0 0 21 64Z';
  const scale = `scale(${width / 159} ${height / 71})`;
  const body =
    defineGradient(gradientId, tint) +
    `<g transform="${scale}"><path d="${outline}" transform="translate(0 5)" fill="${tint.dark}"/>` +
    `<path d="${outline}" fill="url(#${gradientId})"/>` +
    '<path d="M40 25A34 34 0 0 1 66 4.5" stroke-width="2" stroke-linecap="round" stroke="#fff" stroke-opacity=".7" fill="none"/></g>';
  return { body, ground: tint.base, area: { x: 0, y: height * 0.1, width, height: height * 0.75 } };
};

export const buildDisc: BuildSurface = (width, height, tint, gradientId) => {
  const radius = width / 2;
  const place = `cx="${radius}" cy="${height / 2}"`;
  const body =
    defineGradient(gradientId, tint) +
    `<circle ${place} r="${radius}" fill="url(#${gradientId})"/><circle ${place} r="${radius - 2.5}" ${EDGE}/>`;
  return { body, ground: tint.base, area: inset({ x: 0, y: 0, width, height }, width * 0.1) };
};

export const buildSquare: BuildSurface = (width, height, tint, gradientId) => {
  const whole = { x: 0, y: 0, width, height };
  const body =
    defineGradient(gradientId, tint) +
    drawBlock(whole, 10, `fill="url(#${gradientId})"`) +
    drawBlock(inset(whole, 2.5), 7.5, EDGE);
  return { body, ground: tint.base, area: inset(whole, width * 0.06) };
};
