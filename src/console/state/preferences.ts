/** How somebody wants the console, kept by the browser if it keeps anything. */
import { effect, signal } from '@preact/signals';
import { layersOf, layersText } from '../map/layers.js';

const SCHEMES = ['system', 'light', 'dark'] as const;

export type ColourScheme = (typeof SCHEMES)[number];

const SMALLEST_TEXT = 8;
const LARGEST_TEXT = 32;
const USUAL_TEXT = 14;

const kept = (name: string): string | null => {
  try {
    return localStorage.getItem(`wirefarm.${name}`);
  } catch {
    return null;
  }
};

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`wirefarm.${name}`, value);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

const keptScheme = (): ColourScheme => SCHEMES.find((known) => known === kept('scheme')) ?? 'system';

function keptTextSize(): number {
  const pixels = Number(kept('terminal-text'));
  return pixels >= SMALLEST_TEXT && pixels <= LARGEST_TEXT ? pixels : USUAL_TEXT;
}

export const scheme = signal<ColourScheme>(keptScheme());
/** The size of the text in terminals, in pixels. */
export const terminalText = signal(keptTextSize());
/** Whether single letters are keys of the console. */
export const hasLetterKeys = signal(kept('letter-keys') !== 'off');
/** The layers of maps that are shown. */
export const mapLayers = signal(layersOf(kept('map-layers')));

effect(() => {
  document.documentElement.dataset['scheme'] = scheme.value;
  keep('scheme', scheme.value);
});
effect(() => {
  keep('letter-keys', hasLetterKeys.value ? 'on' : 'off');
});
effect(() => {
  keep('terminal-text', String(terminalText.value));
});
effect(() => {
  keep('map-layers', layersText(mapLayers.value));
});

export function changeTerminalText(pixels: number): void {
  terminalText.value = Math.min(LARGEST_TEXT, Math.max(SMALLEST_TEXT, terminalText.value + pixels));
}

// Another document of the console has changed something: terminals are documents of their own.
addEventListener('storage', () => {
  scheme.value = keptScheme();
  terminalText.value = keptTextSize();
});
