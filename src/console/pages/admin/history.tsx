/** The history: what happened to the server as a whole in the last 30 days. */
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import type { RememberedEventShape } from '../../../api/shapes/history.js';
import { serverHistory } from '../../api/administration.js';
import { AsCurl } from '../../parts/as-curl.js';
import { Empty, Failure, Loading } from '../../parts/notice.js';
import { Moment } from '../../parts/quantity.js';
import { Table, type Column } from '../../parts/table.js';
import { useReading } from '../../state/reading.js';
import { TEXTS } from '../../texts.js';
import { AdminFrame } from './admin-frame.js';
import { titleOf } from '../../state/subjects.js';
import { ADMIN_TEXTS } from './texts.js';

const { history: texts } = ADMIN_TEXTS;

interface Row extends RememberedEventShape {
  readonly number: number;
}

const kindText = ({ kind }: Row): string => kind.replaceAll('_', ' ');

const COLUMNS: readonly Column<Row>[] = [
  { title: texts.time, order: ({ number }) => number, cell: ({ time }) => <Moment time={time} /> },
  { title: texts.kind, order: kindText, cell: kindText, isSecondary: true },
  {
    title: texts.message,
    order: ({ message }) => message,
    cell: ({ message, times }) => (
      <span title={message}>{times > 1 ? texts.times(message, times) : message}</span>
    ),
  },
  { title: texts.user, order: ({ user }) => user ?? '', cell: ({ user }) => user ?? '–' },
];

export function HistoryPage(): JSX.Element {
  const { answer, error, again } = useReading('history', serverHistory);
  const rows = useComputed<readonly Row[]>(() =>
    (answer.value ?? []).map((event, number) => ({ ...event, number })),
  );
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  return (
    <AdminFrame subject="history">
      <Table
        label={titleOf('history')}
        filterLabel={texts.filter}
        rows={rows}
        columns={COLUMNS}
        idOf={({ number }) => String(number)}
        nameOf={({ message }) => message}
        textOf={(row) => `${kindText(row)} ${row.message} ${row.user ?? ''}`}
      >
        <button type="button" onClick={() => void again()}>
          {TEXTS.captures.again}
        </button>
      </Table>
      {rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      <AsCurl call={serverHistory()} />
    </AdminFrame>
  );
}
