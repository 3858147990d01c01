/** The links whose packets are shown: all, or those that are ticked. */
import type { JSX } from 'preact';
import type { LinkName } from './packet-messages.js';
import { PACKET_TEXTS } from './texts.js';

interface LinkChooserProps {
  readonly links: readonly LinkName[];
  /** Ids; none for all. */
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function LinkChooser({ links, chosen, onChange }: LinkChooserProps): JSX.Element {
  const names = links.filter(({ id }) => chosen.includes(id)).map(({ name }) => name);
  return (
    <details class="chooser">
      <summary>
        {PACKET_TEXTS.links}: {names.length === 0 ? PACKET_TEXTS.allLinks : PACKET_TEXTS.chosen(names)}
      </summary>
      <fieldset>
        <legend>{PACKET_TEXTS.links}</legend>
        <label class="check">
          <input type="checkbox" checked={chosen.length === 0} onChange={() => onChange([])} />
          {PACKET_TEXTS.allLinks}
        </label>
        {links.map(({ id, name }) => (
          <label key={id} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={({ currentTarget: { checked } }) =>
                onChange(checked ? [...chosen, id] : chosen.filter((other) => other !== id))
              }
            />
            {name}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
