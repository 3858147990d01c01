/** The messages of the moment, which screen readers speak. */
import type { JSX } from 'preact';
import { dismiss, toasts } from '../state/toasts.js';
import { TEXTS } from '../texts.js';
import { Icon } from './icon.js';

export function Toasts(): JSX.Element {
  return (
    <section class="toasts" aria-label={TEXTS.messages} aria-live="polite">
      {toasts.value.map(({ id, text, isFailure }) => (
        <div key={id} class={isFailure ? 'toast failure' : 'toast'} role={isFailure ? 'alert' : 'status'}>
          <span aria-hidden="true">{isFailure ? '✖' : '✓'}</span>
          <p>{text}</p>
          <button type="button" class="bare" aria-label={TEXTS.dismiss} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </section>
  );
}
