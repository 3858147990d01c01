/** The layers of the map, which people show and hide. */

const LAYERS = ['names', 'drawings', 'ports', 'states', 'rates', 'grid', 'minimap'] as const;

export type Layer = (typeof LAYERS)[number];

/** Shown unless somebody wants it otherwise. */
const USUAL: readonly Layer[] = ['names', 'drawings', 'states', 'rates', 'minimap'];

/** Reads what was kept: words, of which some may be unknown. */
export function layersOf(text: string | null): ReadonlySet<Layer> {
  if (text === null) return new Set(USUAL);
  const words = text.split(' ');
  return new Set(LAYERS.filter((layer) => words.includes(layer)));
}

export function layersText(shown: ReadonlySet<Layer>): string {
  return [...shown].join(' ');
}

export function withLayer(shown: ReadonlySet<Layer>, layer: Layer, isShown: boolean): ReadonlySet<Layer> {
  return new Set(LAYERS.filter((one) => (one === layer ? isShown : shown.has(one))));
}
