/** The others at a console, in words. */
import type { ConsoleNewsShape } from '../../api/shapes/consoles.js';
import { TERMINAL_TEXTS as texts } from './texts.js';

/** The name of the caller on a server without accounts. */
const NAMELESS = 'everybody';

/** A sentence; empty without others. A name several times is one person with several windows. */
export function sentenceAbout(others: ConsoleNewsShape['others']): string {
  const counts = new Map<string, number>();
  let nameless = 0;
  for (const { name, mode } of others) {
    const shown = mode === 'watch' ? texts.watcher(name) : name;
    if (name === NAMELESS) nameless++;
    else counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  const words = [...counts].map(([name, count]) => texts.several(name, count));
  if (nameless > 0) words.push(texts.strangers(nameless));
  if (words.length === 0) return '';
  return words.length === 1 && nameless < 2 ? texts.isHere(words) : texts.areHere(words);
}
