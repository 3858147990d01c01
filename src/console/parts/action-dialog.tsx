/** A dialog that does one thing: it stays, with what was typed, until that is done. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { Call } from '../api/call.js';
import { Dialog } from './dialog.js';

interface ActionDialogProps {
  readonly title: string;
  readonly button: string;
  readonly call: Call<unknown>;
  readonly isReady: boolean;
  readonly isDangerous?: boolean;
  /** Resolves with whether it was done. */
  readonly run: () => Promise<boolean>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function ActionDialog(props: ActionDialogProps): JSX.Element {
  const { title, button, call, isReady, isDangerous = false, run, onClose, children } = props;
  const isBusy = useSignal(false);
  const act = async (): Promise<void> => {
    isBusy.value = true;
    if (await run()) onClose();
    else isBusy.value = false;
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      action={{
        ...{ name: button, call, isDangerous },
        isDisabled: isBusy.value || !isReady,
        run: () => void act(),
      }}
    >
      {children}
    </Dialog>
  );
}
