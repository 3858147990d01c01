/** The keys of the console. Those of a page come and go with it. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { hasLetterKeys } from './preferences.js';

/** Actions by key: `?`, `Ctrl+k` (also with the key of Macs), or `g l` for two in turn. */
export type KeyMap = Readonly<Record<string, () => void>>;

/** The second key of two follows within this time. */
const PAIR_MS = 1500;
const maps = new Set<KeyMap>();
let first: { readonly key: string; readonly at: number } | undefined;

/** Offers the keys while the component is there, from the moment on that it is shown. */
export function useKeys(map: KeyMap): void {
  const current = useRef(map);
  current.current = map;
  useLayoutEffect(() => {
    const live = new Proxy<KeyMap>({}, { get: (_, name: string) => current.current[name] });
    maps.add(live);
    return () => {
      maps.delete(live);
    };
  }, []);
}

function actionFor(name: string): (() => void) | undefined {
  for (const map of [...maps].reverse()) {
    const action = map[name];
    if (action !== undefined) return action;
  }
  return undefined;
}

/** Where keys are text, they are no commands. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type=checkbox]), textarea, select'))
  );
}

function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string {
  const isLetter = key.length === 1;
  const control = ctrlKey || metaKey ? 'Ctrl+' : '';
  const alt = altKey ? 'Alt+' : '';
  // The character says already that it needed the shift.
  const shift = shiftKey && (!isLetter || control !== '') ? 'Shift+' : '';
  return `${control}${alt}${shift}${isLetter && control !== '' ? key.toLowerCase() : key}`;
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = nameOf(event);
  const isPlain = event.key.length === 1 && !name.includes('+');
  if (isPlain && (isTyping(event.target) || !hasLetterKeys.value)) return;
  // A dialog has the keys for itself.
  if (document.querySelector('dialog[open]') !== null) return;
  const isPair = first !== undefined && event.timeStamp - first.at < PAIR_MS;
  const action = (isPair ? actionFor(`${first?.key ?? ''} ${name}`) : undefined) ?? actionFor(name);
  first = isPlain && action === undefined ? { key: name, at: event.timeStamp } : undefined;
  if (action === undefined) return;
  event.preventDefault();
  action();
}

addEventListener('keydown', onKey);
