/** A dialog: the browser keeps the focus in it, and gives it back where it was. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Call } from '../api/call.js';
import { TEXTS } from '../texts.js';
import { AsCurl } from './as-curl.js';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** The button that does it, the call that it makes if it makes one, and whether it may be pressed. */
  readonly action?: {
    readonly name: string;
    readonly call?: Call<unknown>;
    readonly run: () => void;
    readonly isDisabled?: boolean;
    readonly isDangerous?: boolean;
  };
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, action, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const isThere = useRef(true);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    current?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => {
      // A dialog in the place of this one is not closed with it.
      isThere.current = false;
      current?.close();
    };
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (action?.isDisabled !== true) action?.run();
  };
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={() => isThere.current && onClose()}>
      <form onSubmit={submit}>
        <h2 id={titleId}>{title}</h2>
        {children}
        {action?.call && <AsCurl call={action.call} />}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {action ? TEXTS.dialog.cancel : TEXTS.dialog.close}
          </button>
          {action && (
            <button class={action.isDangerous ? 'danger' : 'primary'} disabled={action.isDisabled ?? false}>
              {action.name}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
