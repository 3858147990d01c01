/** The audit: its lines as they come, of those who and what is asked for, and whether it is whole. */
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import type { AuditLineShape } from '../../../api/shapes/audit.js';
import { auditVerification, readAudit, streamAudit, verifyAudit } from '../../api/administration.js';
import { listProjects } from '../../api/projects.js';
import { AsCurl } from '../../parts/as-curl.js';
import { Choice } from '../../parts/choice.js';
import { Moment } from '../../parts/quantity.js';
import { Table, type Column } from '../../parts/table.js';
import { TextField } from '../../parts/text-field.js';
import { timeFromNow } from '../../state/clock.js';
import { useReading } from '../../state/reading.js';
import { failed } from '../../state/toasts.js';
import { AdminFrame } from './admin-frame.js';
import { titleOf } from '../../state/subjects.js';
import { ADMIN_TEXTS } from './texts.js';

const { audit: texts } = ADMIN_TEXTS;
const SPANS = ['hour', 'day', 'week', 'all'] as const;
type Span = (typeof SPANS)[number];
const HOUR_MS = 3_600_000;
const SPAN_MS: Readonly<Record<Span, number>> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  all: Infinity,
};
/** The page holds so many lines, the newest that have come. */
const MOST_HELD = 5000;
/** So many lines more are held for a moment, so that few lists are made of many lines. */
const SLACK = 1000;
/** A filter is asked for when it has not changed for so long. */
const PAUSE_MS = 300;
const ANY = '';

const statusText = ({ status }: AuditLineShape): string =>
  status === null ? texts.noAnswer : String(status);
const whatText = ({ method, route, kind }: AuditLineShape): string =>
  [kind === 'change' ? '' : `${texts.kinds[kind]}: `, method ?? '', ' ', route ?? ''].join('').trim();
const idsText = ({ ids }: AuditLineShape): string => Object.values(ids).join(' ');

const COLUMNS: readonly Column<AuditLineShape>[] = [
  {
    title: texts.time,
    order: ({ sequence }) => -sequence,
    cell: ({ time }) => <Moment time={time} />,
  },
  { title: texts.user, order: ({ user }) => user ?? '', cell: ({ user }) => user ?? '–' },
  {
    title: texts.what,
    order: whatText,
    cell: (line) => <code title={whatText(line)}>{whatText(line)}</code>,
  },
  {
    title: texts.about,
    order: idsText,
    cell: (line) => <span title={idsText(line)}>{idsText(line)}</span>,
    isSecondary: true,
  },
  {
    title: texts.status,
    order: ({ status }) => status ?? 0,
    cell: (line) => <span class={(line.status ?? 0) >= 400 ? 'state bad' : 'state'}>{statusText(line)}</span>,
    isNumber: true,
  },
  {
    title: texts.address,
    order: ({ address }) => address ?? '',
    cell: ({ address, token }) => (token === null ? address : `${address ?? ''} (${texts.token})`),
    isSecondary: true,
  },
];

export function AuditPage(): JSX.Element {
  const user = useSignal('');
  const lab = useSignal(ANY);
  const span = useSignal<Span>('day');
  const lines = useSignal<readonly AuditLineShape[]>([]);
  const isReading = useSignal(true);
  const labs = useReading('labs', listProjects);
  const names = new Map((labs.answer.value ?? []).map(({ project_id: id, name }) => [id, name]));
  const query = useComputed(() => {
    const past = SPAN_MS[span.value];
    return {
      user: user.value.trim(),
      project: lab.value,
      since: past === Infinity ? '' : timeFromNow(-past),
    };
  });
  useSignalEffect(() => {
    const { value: wanted } = query;
    const end = new AbortController();
    isReading.value = true;
    const read = async (): Promise<void> => {
      const held: AuditLineShape[] = [];
      const show = (): void => {
        held.splice(0, Math.max(0, held.length - MOST_HELD));
        lines.value = [...held];
      };
      try {
        await streamAudit(wanted, end.signal, (line) => {
          held.push(line);
          if (held.length >= MOST_HELD + SLACK) show();
        });
      } catch (error) {
        if (!end.signal.aborted) failed(error);
      }
      if (end.signal.aborted) return;
      show();
      isReading.value = false;
    };
    const timer = setTimeout(() => void read(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  });
  return (
    <AdminFrame subject="audit">
      <div class="bar fields">
        <TextField label={texts.userField} value={user} maxLength={64} />
        <Choice
          label={texts.lab}
          value={lab}
          words={[ANY, ...names.keys()]}
          textOf={(id) => names.get(id) ?? texts.anyLab}
        />
        <Choice label={texts.since} value={span} words={SPANS} textOf={(word) => texts.spans[word]} />
      </div>
      <Verification />
      <Table
        label={titleOf('audit')}
        filterLabel={texts.filter}
        rows={lines}
        columns={COLUMNS}
        idOf={({ sequence }) => String(sequence)}
        nameOf={({ sequence }) => String(sequence)}
        textOf={(line) =>
          `${line.user ?? ''} ${whatText(line)} ${idsText(line)} ${statusText(line)} ${line.address ?? ''}`
        }
      />
      <p class="hint" role="status">
        {isReading.value ? texts.reading : texts.held(lines.value.length, lines.value.length >= MOST_HELD)}
      </p>
      <AsCurl call={readAudit(query.value)} />
    </AdminFrame>
  );
}

function Verification(): JSX.Element {
  const reading = useReading('verification', auditVerification, (action) =>
    /^job\.(started|ended)$/.test(action),
  );
  const { found = null, state, reason = null } = reading.answer.value ?? {};
  const isBusy = state === 'waiting' || state === 'running';
  return (
    <section class="bar" aria-label={texts.verify}>
      <button
        type="button"
        disabled={isBusy}
        onClick={() => void reading.change((known) => known, verifyAudit())}
      >
        {isBusy ? texts.verifying : texts.verify}
      </button>
      {reason !== null && <span class="state bad">{reason}</span>}
      {found !== null && (
        <span class={found.faults === 0 ? 'state good' : 'state bad'} role="status">
          <span aria-hidden="true">{found.faults === 0 ? '✓' : '✖'}</span>{' '}
          {texts.verdict(found.lines, found.range, found.faults)}
        </span>
      )}
      {found !== null && found.first.length > 0 && (
        <ul class="names" aria-label={texts.faults} tabIndex={0}>
          {found.first.map((fault, index) => (
            <li key={index}>{fault}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
