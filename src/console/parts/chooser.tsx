/** Things to tick, behind their names. */
import type { JSX } from 'preact';

interface ChooserProps {
  readonly title: string;
  readonly things: readonly { readonly id: string; readonly name: string }[];
  /** Ids. */
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  /** The words for none, and for some. */
  readonly none: string;
  readonly some: (names: readonly string[]) => string;
  /** Whether none can be ticked by that name, too. */
  readonly hasNone: boolean;
}

export function Chooser({ title, things, chosen, onChange, none, some, hasNone }: ChooserProps): JSX.Element {
  const names = things.filter(({ id }) => chosen.includes(id)).map(({ name }) => name);
  return (
    <details class="chooser">
      <summary>
        {title}: {names.length === 0 ? none : some(names)}
      </summary>
      <fieldset>
        <legend>{title}</legend>
        {hasNone && (
          <label class="check">
            <input type="checkbox" checked={chosen.length === 0} onChange={() => onChange([])} />
            {none}
          </label>
        )}
        {things.map(({ id, name }) => (
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
