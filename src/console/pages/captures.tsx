/** Capture files of all labs. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ProjectCaptureShape } from '../../api/shapes/captures.js';
import { captureAddress, captureArchive, deleteCapture, listCaptures } from '../api/captures.js';
import { Deletion } from '../parts/deletion.js';
import { download } from '../parts/download.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { bytesText, countText, Moment } from '../parts/quantity.js';
import { Table, type Column } from '../parts/table.js';
import { sendEach } from '../state/bulk.js';
import { addressOf } from '../state/place.js';
import { useReading } from '../state/reading.js';
import { TEXTS } from '../texts.js';

const { captures: texts } = TEXTS;

const COLUMNS: readonly Column<ProjectCaptureShape>[] = [
  {
    title: texts.name,
    order: ({ name }) => name,
    cell: (file) => (
      <a href={captureAddress(file)} download={file.name}>
        {file.name}
      </a>
    ),
  },
  {
    title: texts.lab,
    order: ({ project_name: name }) => name,
    cell: ({ project_name: name, project_id: id }) => <a href={addressOf('labs', id)}>{name}</a>,
  },
  {
    title: texts.state,
    order: ({ state }) => state,
    cell: ({ state }) => (
      <span class={state === 'running' ? 'state good' : 'state'}>
        <span aria-hidden="true">{state === 'running' ? '●' : '○'}</span> {texts.states[state]}
      </span>
    ),
  },
  {
    title: texts.packets,
    order: ({ packets }) => packets ?? -1,
    cell: ({ packets }) => (packets === null ? '–' : countText(packets)),
    isNumber: true,
    isSecondary: true,
  },
  { title: texts.size, order: ({ size }) => size, cell: ({ size }) => bytesText(size), isNumber: true },
  {
    title: texts.changed,
    order: ({ modified_at: time }) => time,
    cell: ({ modified_at: time }) => <Moment time={time} />,
    isSecondary: true,
  },
];

const idOf = ({ project_id: id, name }: ProjectCaptureShape): string => `${id} ${name}`;

export function CapturesPage(): JSX.Element {
  const { answer, error, again } = useReading('captures', listCaptures);
  const rows = useComputed(() => answer.value ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const isRemoving = useSignal(false);
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const chosen = rows.value.filter((file) => selected.value.has(idOf(file)));
  const [first] = chosen;
  const take = (): void => {
    for (const id of new Set(chosen.map(({ project_id: projectId }) => projectId))) {
      const ofLab = chosen.filter(({ project_id: projectId }) => projectId === id);
      download(
        captureArchive(
          id,
          ofLab.map(({ name }) => name),
        ),
      );
    }
  };
  const remove = async (): Promise<void> => {
    await sendEach(chosen, deleteCapture, ({ name }) => name);
    selected.value = new Set();
    await again();
  };
  return (
    <div class="page">
      <h1>{texts.title}</h1>
      <Table
        label={texts.title}
        filterLabel={texts.filter}
        rows={rows}
        columns={COLUMNS}
        idOf={idOf}
        nameOf={({ name }) => name}
        textOf={({ name, project_name: lab, state }) => `${name} ${lab} ${texts.states[state]}`}
        selected={selected}
      >
        <button type="button" onClick={() => void again()}>
          {texts.again}
        </button>
        {chosen.length > 0 && (
          <>
            <button type="button" onClick={take}>
              {texts.download}
            </button>
            <button type="button" class="danger" onClick={() => (isRemoving.value = true)}>
              {texts.remove}
            </button>
          </>
        )}
      </Table>
      {rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      {isRemoving.value && first !== undefined && (
        <Deletion
          title={texts.removal(chosen.length)}
          names={chosen.map(({ name }) => name)}
          call={deleteCapture(first)}
          run={remove}
          onClose={() => (isRemoving.value = false)}
        />
      )}
    </div>
  );
}
