/** The keys of the map, for the list of keys. */
import { TEXTS } from '../texts.js';

const { mapKeys: texts } = TEXTS;

export const MAP_KEYS = [
  { keys: '← ↑ → ↓  [ ]', text: texts.select },
  { keys: 'F6', text: texts.panes },
  { keys: 'Shift ←  Shift Alt ←', text: texts.move },
  { keys: 'Alt ←', text: texts.pan },
  { keys: '+ − 0 f', text: texts.zoom },
  { keys: 'a l d n', text: texts.change },
  { keys: 's x r', text: texts.run },
  { keys: 't', text: texts.consoles },
  { keys: 'z c p', text: texts.line },
  { keys: 'F2 Delete', text: texts.remove },
  { keys: 'Ctrl A  Ctrl Z  Ctrl Shift Z', text: texts.undo },
] as const;
