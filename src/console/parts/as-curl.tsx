/** The line for a terminal that does what a dialog does. */
import type { JSX } from 'preact';
import { curlLine, type Call } from '../api/call.js';
import { failed, tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

export function AsCurl({ call }: { readonly call: Call<unknown> }): JSX.Element {
  const line = curlLine(call);
  return (
    <details class="curl">
      <summary>{TEXTS.dialog.curl}</summary>
      <code tabIndex={0}>{line}</code>
      <button type="button" onClick={() => void copy(line)}>
        {TEXTS.dialog.copy}
      </button>
    </details>
  );
}

/** Pages on plain HTTP names may not use the clipboard, but may copy what is marked. */
async function copy(text: string): Promise<void> {
  try {
    if (isSecureContext) await navigator.clipboard.writeText(text);
    else copyMarked(text);
    tell(TEXTS.dialog.copied);
  } catch {
    failed(new Error(TEXTS.dialog.notCopied));
  }
}

function copyMarked(text: string): void {
  const field = document.createElement('textarea');
  field.value = text;
  const holder = document.querySelector('dialog[open]') ?? document.body;
  holder.append(field);
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- there is no other way on plain HTTP
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error(TEXTS.dialog.notCopied);
}
