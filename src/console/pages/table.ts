/** The table of pages: the routes, the menu, the keys that lead there, and the list of keys come from it. */
import type { ComponentType } from 'preact';
import type { Right } from '../../base/rights.js';
import type { IconName } from '../parts/icon.js';
import { TEXTS } from '../texts.js';

export interface PageProps {
  /** The parts of the address that the pattern names. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

export interface ConsolePage {
  /** Parts of the address; one that begins with a colon is any text, by this name. */
  readonly pattern: readonly string[];
  readonly title: string;
  /** Without it the page is in no menu. `g` and the letter lead to the page. */
  readonly menu?: { readonly icon: IconName; readonly letter: string };
  /** Only who has the right is offered the page. */
  readonly right?: Right;
  /** The keys of the page itself, for the list of keys. */
  readonly keys?: readonly { readonly keys: string; readonly text: string }[];
  /** Loads the script of the page. */
  readonly load: () => Promise<ComponentType<PageProps>>;
}

export const PAGES: readonly ConsolePage[] = [
  {
    pattern: ['labs'],
    title: TEXTS.pages.labs,
    menu: { icon: 'labs', letter: 'l' },
    right: 'projects:read',
    load: async () => (await import('./labs.js')).LabsPage,
  },
];

/** The page of an address without parts. */
const FIRST = ['labs'];

export function pageAt(
  parts: readonly string[],
): Pick<PageProps, 'params'> & { page: ConsolePage | undefined } {
  const wanted = parts.length === 0 ? FIRST : parts;
  const page = PAGES.find(
    ({ pattern }) =>
      pattern.length === wanted.length &&
      pattern.every((part, index) => part.startsWith(':') || part === wanted[index]),
  );
  const named = (page?.pattern ?? []).flatMap((part, index) =>
    part.startsWith(':') ? [[part.slice(1), wanted[index] ?? '']] : [],
  );
  return { page, params: Object.fromEntries(named) as Record<string, string> };
}
