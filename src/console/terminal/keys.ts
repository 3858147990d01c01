/** The keys of terminals, for the list of keys. */
import { TEXTS } from '../texts.js';

const { consoleKeys: texts } = TEXTS;

export const CONSOLE_KEYS = [
  { keys: 'F6', text: texts.enter },
  { keys: 'Ctrl F6', text: texts.leave },
  { keys: 'Ctrl C', text: texts.copy },
  { keys: 'Ctrl V  Shift Insert', text: texts.paste },
  { keys: 'Ctrl Shift F', text: texts.find },
] as const;
