/** A field of a dialog for one line of text. */
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

interface TextFieldProps {
  readonly label: string;
  readonly value: Signal<string>;
  readonly maxLength?: number;
}

export function TextField({ label, value, maxLength }: TextFieldProps): JSX.Element {
  return (
    <label>
      {label}
      <input
        autocomplete="off"
        maxLength={maxLength}
        value={value}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
    </label>
  );
}
