/** The keys, all in one list. */
import type { JSX } from 'preact';
import { PAGES } from '../pages/table.js';
import { TEXTS } from '../texts.js';
import { Dialog } from './dialog.js';

export function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const ofPages = PAGES.flatMap(({ menu, title, keys = [] }) => [
    ...(menu === undefined ? [] : [{ keys: `g ${menu.letter}`, text: TEXTS.help.goTo(title) }]),
    ...keys,
  ]);
  const rows = [
    { keys: 'Ctrl K', text: TEXTS.help.palette },
    { keys: '?', text: TEXTS.help.help },
    { keys: '/', text: TEXTS.help.filter },
    { keys: 'Esc', text: TEXTS.help.close },
    ...ofPages,
  ];
  return (
    <Dialog title={TEXTS.help.title} onClose={onClose}>
      <dl class="keys" tabIndex={0}>
        {rows.map(({ keys, text }) => (
          <div key={keys + text}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
