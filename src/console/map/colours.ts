/** The colours of the page, for a canvas, which does not know the names of style sheets. */

const NAMES = {
  accent: '--accent',
  busy: '--good',
  chosen: '--chosen',
  edge: '--edge',
  good: '--good',
  ground: '--surface',
  line: '--line',
  link: '--edge',
  muted: '--muted',
  text: '--text',
  warn: '--warn',
} as const;

export type Colours = Readonly<Record<keyof typeof NAMES, string>>;

/** Reads them as they are for this element now. */
export function coloursOf(element: HTMLElement): Colours {
  const probe = document.createElement('span');
  element.append(probe);
  const colours = Object.entries(NAMES).map(([name, variable]) => {
    probe.style.color = `var(${variable})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(colours) as Record<keyof typeof NAMES, string>;
}
