/** Asks before what cannot be undone: whoever does it types the name of what goes. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Call } from '../api/call.js';
import { TEXTS } from '../texts.js';
import { Dialog } from './dialog.js';
import { TextField } from './text-field.js';

interface DeletionProps {
  readonly title: string;
  /** All that goes. */
  readonly names: readonly string[];
  /** The call for the first of them. */
  readonly call: Call<unknown>;
  readonly run: () => Promise<void>;
  readonly onClose: () => void;
}

export function Deletion({ title, names, call, run, onClose }: DeletionProps): JSX.Element {
  const typed = useSignal('');
  const isBusy = useSignal(false);
  const [first = ''] = names;
  const wanted = names.length === 1 ? first : String(names.length);
  const act = async (): Promise<void> => {
    isBusy.value = true;
    await run();
    onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      action={{
        name: TEXTS.deletion.button,
        call,
        run: () => void act(),
        isDisabled: isBusy.value || typed.value.trim() !== wanted.trim(),
        isDangerous: true,
      }}
    >
      <ul class="names" tabIndex={0} aria-label={TEXTS.deletion.goes}>
        {names.map((name, index) => (
          <li key={index}>{name}</li>
        ))}
      </ul>
      <p>{TEXTS.deletion.final}</p>
      <TextField
        label={names.length === 1 ? TEXTS.deletion.typeName : TEXTS.deletion.typeCount(names.length)}
        value={typed}
      />
    </Dialog>
  );
}
