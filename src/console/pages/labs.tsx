/** All labs: found, opened, closed, made. */
import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ProjectShape } from '../../api/shapes/projects.js';
import { send, type Call } from '../api/call.js';
import { closeProject, createProject, listProjects, openProject } from '../api/projects.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icon.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { Table, type Column } from '../parts/table.js';
import { may } from '../state/account.js';
import { useCommands } from '../state/commands.js';
import { addressOf, go } from '../state/place.js';
import { useReading } from '../state/reading.js';
import { failed, tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

const { labs: texts } = TEXTS;

const COLUMNS: readonly Column<ProjectShape>[] = [
  {
    title: texts.name,
    order: ({ name }) => name,
    cell: ({ name, project_id: id }) => <a href={addressOf('labs', id)}>{name}</a>,
  },
  {
    title: texts.state,
    order: ({ status }) => status,
    cell: ({ status }) => (
      <span class={`state ${status}`}>
        <span aria-hidden="true">{status === 'opened' ? '●' : '○'}</span> {texts.states[status]}
      </span>
    ),
  },
];

export function LabsPage(): JSX.Element {
  const { answer, error, again } = useReading('labs', listProjects, (action) =>
    action.startsWith('project.'),
  );
  const rows = useComputed(() => answer.value ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const isMaking = useSignal(false);
  const make = (): void => {
    isMaking.value = true;
  };
  useCommands(() => (may('projects:write') ? [{ name: texts.create, run: make }] : []));
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  return (
    <div class="page">
      <h1>{texts.title}</h1>
      <Table
        label={texts.title}
        filterLabel={texts.filter}
        rows={rows}
        columns={COLUMNS}
        idOf={({ project_id: id }) => id}
        nameOf={({ name }) => name}
        textOf={({ name, status }) => `${name} ${texts.states[status]}`}
        selected={selected}
      >
        {may('projects:write') && (
          <button type="button" class="primary" onClick={make}>
            <Icon name="plus" />
            {texts.create}
          </button>
        )}
        {may('run') && selected.value.size > 0 && <Actions selected={selected} again={again} />}
      </Table>
      {rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      {isMaking.value && <NewLab onClose={() => (isMaking.value = false)} />}
    </div>
  );
}

interface ActionsProps {
  readonly selected: Signal<ReadonlySet<string>>;
  readonly again: () => Promise<void>;
}

/** The buttons for all selected labs. */
function Actions({ selected, again }: ActionsProps): JSX.Element {
  const each = async (call: (id: string) => Call<unknown>): Promise<void> => {
    const results = await Promise.allSettled([...selected.value].map((id) => send(call(id))));
    for (const result of results) if (result.status === 'rejected') failed(result.reason);
    await again();
  };
  return (
    <>
      <button type="button" onClick={() => void each(openProject)}>
        {texts.open}
      </button>
      <button type="button" onClick={() => void each(closeProject)}>
        {texts.close}
      </button>
    </>
  );
}

function NewLab({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const name = useSignal('');
  const isBusy = useSignal(false);
  const call = createProject(name.value.trim());
  const run = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const { name: made, project_id: id } = await send(call);
      tell(texts.created(made));
      onClose();
      go(addressOf('labs', id));
    } catch (error) {
      failed(error);
    }
    isBusy.value = false;
  };
  return (
    <Dialog
      title={texts.create}
      onClose={onClose}
      action={{
        name: texts.createButton,
        call,
        run: () => void run(),
        isDisabled: isBusy.value || name.value.trim() === '',
      }}
    >
      <label>
        {texts.name}
        <input
          autofocus
          maxLength={200}
          value={name}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
    </Dialog>
  );
}
