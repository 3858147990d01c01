/** Asks before more than one line is pasted. */
import type { JSX } from 'preact';
import { Dialog } from '../parts/dialog.js';
import { TERMINAL_TEXTS as texts } from './texts.js';

const MOST_SHOWN = 12;

interface PasteLinesProps {
  readonly text: string;
  readonly onPaste: (text: string) => void;
  readonly onClose: () => void;
}

export function PasteLines({ text, onPaste, onClose }: PasteLinesProps): JSX.Element {
  const lines = text.replace(/(?:\r\n|\r|\n)$/, '').split(/\r\n|\r|\n/);
  const paste = (): void => {
    onPaste(text);
    onClose();
  };
  return (
    <Dialog
      title={texts.pasteTitle(lines.length)}
      onClose={onClose}
      action={{ name: texts.paste, run: paste }}
    >
      <p>{texts.pasteHint}</p>
      <pre class="lines">
        {lines.slice(0, MOST_SHOWN).join('\n')}
        {lines.length > MOST_SHOWN && `\n${texts.more(lines.length - MOST_SHOWN)}`}
      </pre>
    </Dialog>
  );
}
