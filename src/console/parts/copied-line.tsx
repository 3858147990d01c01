/** A line for a terminal or a file, with a button that copies it. */
import type { JSX } from 'preact';
import { failed, tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

interface CopiedLineProps {
  readonly line: string;
  /** Says what is copied, where several lines are together. */
  readonly label?: string;
}

export function CopiedLine({ line, label }: CopiedLineProps): JSX.Element {
  return (
    <>
      <code class="copied" tabIndex={0}>
        {line}
      </code>
      <button
        type="button"
        aria-label={label === undefined ? undefined : TEXTS.dialog.copyOf(label)}
        onClick={() => void copy(line)}
      >
        {TEXTS.dialog.copy}
      </button>
    </>
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
