/** Notices that stand in the place of what a page has not got. */
import type { ComponentChildren, JSX } from 'preact';
import { sentenceOf } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

export function Failure({ error }: { readonly error: unknown }): JSX.Element {
  return (
    <p class="notice failure" role="alert">
      {sentenceOf(error)}
    </p>
  );
}

export function Loading(): JSX.Element {
  return (
    <p class="notice" role="status">
      {TEXTS.loading}
    </p>
  );
}

/** Says what to do first. */
export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <div class="notice empty">{children}</div>;
}
