/** The states and rates of links, in few characters. */
import type { Layer } from './layers.js';
import type { LinkFacts, Scene } from './scene.js';

const WHOLE: ReadonlySet<Layer> = new Set<Layer>(['states', 'rates']);

/** The state of a link in few characters: nothing when all is as usual. */
export function badgeOf(
  scene: Scene,
  index: number,
  link: LinkFacts,
  layers: ReadonlySet<Layer> = WHOLE,
): string {
  const frames = scene.rateOf(index, 0) + scene.rateOf(index, 2);
  const drops = scene.dropRateOf(index);
  const states = [link.isSuspended ? '✖' : '', link.isCapturing ? '● cap' : '', filterWords(link)];
  const rates = [frames >= 0.5 ? `${short(frames)}/s` : '', drops >= 0.5 ? `${short(drops)} drops/s` : ''];
  return [...(layers.has('states') ? states : []), ...(layers.has('rates') ? rates : [])]
    .filter((word) => word !== '')
    .join(' ');
}

const UNITS: Readonly<Record<string, string>> = {
  delay: 'ms',
  packet_loss: '% loss',
  corrupt: '% corrupt',
  rate: 'kbit/s',
  duplicate: '% twice',
  reorder: '% reordered',
};

function filterWords({ filters, forward, backward }: LinkFacts): string {
  const all = { ...filters, ...forward, ...backward };
  const words = Object.entries(all).map(([type, values]) => {
    const [value] = Array.isArray(values) ? (values as unknown[]) : [];
    return type in UNITS ? `${String(value)} ${UNITS[type] ?? ''}` : type;
  });
  return words.length > 2 ? `${words.length} filters` : words.join(' ');
}

/** A number in few characters: 950, 1.2k, 34k, 5.6M. */
export function short(value: number): string {
  for (const [size, sign] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const)
    if (value >= size) return `${(value / size).toPrecision(value >= 100 * size ? 3 : 2)}${sign}`;
  return String(Math.round(value));
}
