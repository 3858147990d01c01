/** How somebody wants the console, kept by the browser if it keeps anything. */
import { effect, signal } from '@preact/signals';

const SCHEMES = ['system', 'light', 'dark'] as const;

export type ColourScheme = (typeof SCHEMES)[number];

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

export const scheme = signal<ColourScheme>(SCHEMES.find((known) => known === kept('scheme')) ?? 'system');
/** Whether single letters are keys of the console. */
export const hasLetterKeys = signal(kept('letter-keys') !== 'off');

effect(() => {
  document.documentElement.dataset['scheme'] = scheme.value;
  keep('scheme', scheme.value);
});
effect(() => {
  keep('letter-keys', hasLetterKeys.value ? 'on' : 'off');
});
