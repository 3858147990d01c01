/** A field of a dialog for one of several words. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

interface ChoiceProps<Word extends string> {
  readonly label: string;
  readonly value: Signal<Word>;
  readonly words: readonly Word[];
  readonly textOf: (word: Word) => string;
}

export function Choice<Word extends string>({ label, value, words, textOf }: ChoiceProps<Word>): JSX.Element {
  return (
    <label>
      {label}
      <select
        value={value}
        onChange={({ currentTarget }) => {
          const wanted = words.find((word) => word === currentTarget.value);
          if (wanted !== undefined) value.value = wanted;
        }}
      >
        {words.map((word) => (
          <option key={word} value={word}>
            {textOf(word)}
          </option>
        ))}
      </select>
    </label>
  );
}
