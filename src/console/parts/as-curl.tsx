/** The line for a terminal that does what a dialog does. */
import type { JSX } from 'preact';
import { curlLine, type Call } from '../api/call.js';
import { TEXTS } from '../texts.js';
import { CopiedLine } from './copied-line.js';

export function AsCurl({ call }: { readonly call: Call<unknown> }): JSX.Element {
  return (
    <details class="curl">
      <summary>{TEXTS.dialog.curl}</summary>
      <CopiedLine line={curlLine(call)} />
    </details>
  );
}
