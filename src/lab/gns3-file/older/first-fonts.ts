/** Fonts and colours of Qt, as the desktop client of GNS3 1 stored them. Pure. */

/** `#rrggbb` with its share of visibility. */
interface Paint {
  readonly fill: string;
  readonly opacity: string;
}

interface Font {
  readonly family: string;
  readonly size: number;
  readonly isBold: boolean;
  readonly isItalic: boolean;
}

const USUAL_SIZE = 10;
const LARGEST_SIZE = 1000;

/** From `family,size,…,…,weight,italic,…`. */
export function fontOf(description = 'TypeWriter,10,-1,5,75,0,0,0,0,0'): Font {
  const [family = '', size, , , weight, italic] = description.split(',');
  const points = Math.trunc(Number(size));
  return {
    family: /^[\w .-]+$/.test(family) ? family : 'TypeWriter',
    size: points > 0 && points <= LARGEST_SIZE ? points : USUAL_SIZE,
    isBold: weight === '75',
    isItalic: italic === '1',
  };
}

/** From `#rrggbb` or `#aarrggbb`; black when it is neither. */
export function paintOf(color = '#000000'): Paint {
  const found = /^#?([0-9a-f]{2})?([0-9a-f]{6})$/i.exec(color);
  const visible = Number.parseInt(found?.[1] ?? 'ff', 16) / 255;
  const rounded = Math.round(visible * 100) / 100;
  return {
    fill: `#${found?.[2] ?? '000000'}`,
    opacity: Number.isInteger(rounded) ? `${rounded}.0` : String(rounded),
  };
}

export function labelStyle(description: string | undefined, color: string | undefined): string {
  const { family, size, isBold, isItalic } = fontOf(description);
  const { fill, opacity } = paintOf(color);
  const parts = [
    `font-family: ${family}`,
    `font-size: ${size}`,
    ...(isBold ? ['font-weight: bold'] : []),
    ...(isItalic ? ['font-style: italic'] : []),
    `fill: ${fill}`,
    `fill-opacity: ${opacity}`,
  ];
  return parts.map((part) => `${part};`).join('');
}
