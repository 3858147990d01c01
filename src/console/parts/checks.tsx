/** Checks of the host: their levels in words and shapes, and the commands that repair what they found. */
import type { JSX } from 'preact';
import type { ExaminationShape } from '../../api/shapes/doctor.js';
import { TEXTS } from '../texts.js';
import { CopiedLine } from './copied-line.js';

type Check = ExaminationShape['checks'][number];

const MARKS: Readonly<Record<Check['level'], { readonly sign: string; readonly look: string }>> = {
  failure: { sign: '✖', look: 'state bad' },
  warning: { sign: '⚠', look: 'state warn' },
  note: { sign: '·', look: 'state' },
  ok: { sign: '✓', look: 'state good' },
};

export function Checks({ checks }: { readonly checks: readonly Check[] }): JSX.Element {
  return (
    <ul class="checks">
      {checks.map(({ id, level, found, means, repair }) => (
        <li key={id}>
          <span class={MARKS[level].look}>
            <span aria-hidden="true">{MARKS[level].sign}</span> {TEXTS.dashboard.levels[level]}
          </span>{' '}
          {found}
          {means !== undefined && <p class="hint">{means}</p>}
          {repair !== undefined && <CopiedLine line={repair} label={TEXTS.dashboard.repairOf(id)} />}
        </li>
      ))}
    </ul>
  );
}
