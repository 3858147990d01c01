/** Drawings of a few strokes, which stand beside words. */
import type { JSX } from 'preact';

const SHAPES = {
  account:
    'M10 10a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM3.500 17c.8-3 3.300-4.500 6.500-4.500s5.700 1.500 6.500 4.500',
  admin: 'M4 6h12M4 14h12M8 4v4M13 12v4',
  captures: 'M3 10h3l2-5 4 10 2-5h3',
  close: 'M5 5l10 10M15 5L5 15',
  dashboard: 'M3.500 15a7.500 7.500 0 1 1 13 0M10 12l3.500-4',
  images: 'M4 5c0-3 12-3 12 0v10c0 3-12 3-12 0zM4 5c0 3 12 3 12 0M4 10c0 3 12 3 12 0',
  jobs: 'M10 3v4M10 13v4M3 10h4M13 10h4M5 5l2.500 2.500M12.500 12.500L15 15M15 5l-2.500 2.500M7.500 12.500L5 15',
  labs: 'M4 5h4v4H4zM12 11h4v4h-4zM8 7h6v4',
  menu: 'M3 5h14M3 10h14M3 15h14',
  plus: 'M10 4v12M4 10h12',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.500 13.500L17 17',
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={SHAPES[name]} />
    </svg>
  );
}
