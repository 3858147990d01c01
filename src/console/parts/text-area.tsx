/** A field of a dialog for several lines of text. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

interface TextAreaProps {
  readonly label: string;
  readonly value: Signal<string>;
}

const ROWS = 5;

export function TextArea({ label, value }: TextAreaProps): JSX.Element {
  return (
    <label>
      {label}
      <textarea
        rows={ROWS}
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
    </label>
  );
}
