/** A secret that is shown once, with lines that have it where programs want it. */
import type { JSX } from 'preact';
import { CopiedLine } from '../../parts/copied-line.js';
import { Dialog } from '../../parts/dialog.js';
import { ADMIN_TEXTS } from './texts.js';

interface ShownOnceProps {
  readonly title: string;
  readonly label: string;
  readonly secret: string;
  readonly lines?: readonly { readonly label: string; readonly line: string }[];
  readonly onClose: () => void;
}

export function ShownOnce({ title, label, secret, lines = [], onClose }: ShownOnceProps): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{ADMIN_TEXTS.once}</p>
      <div class="once">
        <CopiedLine line={secret} label={label} />
      </div>
      {lines.map((ready) => (
        <section key={ready.label} class="once" aria-label={ready.label}>
          <h3>{ready.label}</h3>
          <CopiedLine line={ready.line} label={ready.label} />
        </section>
      ))}
    </Dialog>
  );
}
