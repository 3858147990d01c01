/** The dialog for a token of one's own. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ShownTokenShape, TokenShape } from '../../../api/shapes/accounts.js';
import type { Right } from '../../../base/rights.js';
import { createToken } from '../../api/accounts.js';
import { listProjects } from '../../api/projects.js';
import { ActionDialog } from '../../parts/action-dialog.js';
import { Choice } from '../../parts/choice.js';
import { TextField } from '../../parts/text-field.js';
import { account } from '../../state/account.js';
import { timeFromNow } from '../../state/clock.js';
import { useReading } from '../../state/reading.js';
import { ADMIN_TEXTS } from './texts.js';

const { tokens: texts } = ADMIN_TEXTS;
const SETS = ['all', 'reading', 'figures', 'chosen'] as const;
type RightSet = (typeof SETS)[number];
const SPANS = ['never', 'month', 'quarter', 'year'] as const;
type Span = (typeof SPANS)[number];
const DAYS: Readonly<Record<Span, number | undefined>> = {
  never: undefined,
  month: 30,
  quarter: 90,
  year: 365,
};
const DAY_MS = 86_400_000;
const ANY = '';

interface NewTokenProps {
  readonly reading: ReturnType<typeof useReading<TokenShape[]>>;
  readonly show: (token: ShownTokenShape) => void;
  readonly onClose: () => void;
}

export function NewToken({ reading, show, onClose }: NewTokenProps): JSX.Element {
  const name = useSignal('');
  const set = useSignal<RightSet>('all');
  const chosen = useSignal<ReadonlySet<Right>>(new Set());
  const span = useSignal<Span>('year');
  const lab = useSignal(ANY);
  const labs = useReading('labs', listProjects);
  const known = labs.answer.value ?? [];
  const names = new Map(known.map(({ project_id: id, name: called }) => [id, called]));
  const { value } = account;
  const own = typeof value === 'object' ? value.rights : [];
  const rights = rightsOf(set.value, own, chosen.value);
  const days = DAYS[span.value];
  const call = createToken({
    name: name.value.trim(),
    rights,
    projects: lab.value === ANY ? null : [lab.value],
    expires_at: days === undefined ? null : timeFromNow(days * DAY_MS),
  });
  return (
    <ActionDialog
      title={texts.create}
      button={texts.createButton}
      call={call}
      isReady={name.value.trim() !== '' && rights?.length !== 0}
      run={() => reading.change((now) => now, call, show)}
      onClose={onClose}
    >
      <TextField label={texts.name} value={name} maxLength={64} />
      <Choice label={texts.rights} value={set} words={SETS} textOf={(word) => texts.sets[word]} />
      {set.value === 'chosen' && (
        <fieldset class="choices">
          <legend>{texts.rights}</legend>
          {own.map((right) => (
            <label key={right} class="check">
              <input
                type="checkbox"
                checked={chosen.value.has(right)}
                onChange={({ currentTarget: { checked } }) => {
                  const others = [...chosen.value].filter((other) => other !== right);
                  chosen.value = new Set(checked ? [...others, right] : others);
                }}
              />
              {right}
            </label>
          ))}
        </fieldset>
      )}
      <Choice
        label={texts.lab}
        value={lab}
        words={[ANY, ...names.keys()]}
        textOf={(id) => names.get(id) ?? texts.anyLab}
      />
      <Choice label={texts.ends} value={span} words={SPANS} textOf={(word) => texts.spans[word]} />
    </ActionDialog>
  );
}

/** Null stands for all rights, also for those that the user gets later. */
function rightsOf(set: RightSet, own: readonly Right[], chosen: ReadonlySet<Right>): Right[] | null {
  const sets: Readonly<Record<RightSet, () => Right[] | null>> = {
    all: () => null,
    reading: () => own.filter((right) => right.endsWith(':read')),
    figures: () => own.filter((right) => right === 'metrics'),
    chosen: () => own.filter((right) => chosen.has(right)),
  };
  return sets[set]();
}
