/** The buttons for all labs that are selected. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ProjectShape } from '../../api/shapes/projects.js';
import type { Call } from '../api/call.js';
import {
  closeProject,
  deleteProject,
  exportAddress,
  openProject,
  startNodes,
  stopNodes,
} from '../api/projects.js';
import { createSnapshot } from '../api/snapshots.js';
import { Deletion } from '../parts/deletion.js';
import { Dialog } from '../parts/dialog.js';
import { download } from '../parts/download.js';
import { TextField } from '../parts/text-field.js';
import type { Grant, Right } from '../../base/rights.js';
import { hasUsers } from '../state/account.js';
import { sendEach } from '../state/bulk.js';
import { mayOn } from '../state/grants.js';
import { tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';
import { ShareLab } from './share-lab.js';

const { labs: texts } = TEXTS;

interface LabActionsProps {
  readonly labs: readonly ProjectShape[];
  readonly selected: Signal<ReadonlySet<string>>;
  /** Words for what is being done to a lab, by its id. */
  readonly doing: Signal<ReadonlyMap<string, string>>;
  readonly again: () => Promise<void>;
}

const nameOf = ({ name }: ProjectShape): string => name;

export function LabActions({ labs, selected, doing, again }: LabActionsProps): JSX.Element {
  const opened = useSignal<'snapshot' | 'share' | 'deletion' | undefined>(undefined);
  const each = async (word: string, callFor: (id: string) => Call<unknown>): Promise<void> => {
    doing.value = new Map([...doing.value, ...labs.map(({ project_id: id }) => [id, word] as const)]);
    await sendEach(labs, ({ project_id: id }) => callFor(id), nameOf);
    const left = new Map(doing.value);
    for (const { project_id: id } of labs) left.delete(id);
    doing.value = left;
    await again();
  };
  const close = (): void => {
    opened.value = undefined;
  };
  const mayAll = (right: Right, grant?: Grant): boolean =>
    labs.every(({ project_id: id }) => mayOn(id, right, grant));
  return (
    <div class="actions" role="group" aria-label={texts.selected(labs.length)}>
      <span>{texts.selected(labs.length)}</span>
      {mayAll('run') && (
        <>
          <button type="button" onClick={() => void each(texts.opening, openProject)}>
            {texts.open}
          </button>
          <button type="button" onClick={() => void each(texts.closing, closeProject)}>
            {texts.close}
          </button>
          <button type="button" onClick={() => void each(texts.starting, startNodes)}>
            {texts.start}
          </button>
          <button type="button" onClick={() => void each(texts.stopping, stopNodes)}>
            {texts.stop}
          </button>
        </>
      )}
      {mayAll('projects:write') && (
        <button type="button" onClick={() => (opened.value = 'snapshot')}>
          {texts.snapshot}
        </button>
      )}
      {mayAll('projects:write', 'owner') && hasUsers() && labs.length === 1 && (
        <button type="button" onClick={() => (opened.value = 'share')}>
          {texts.share}
        </button>
      )}
      <button type="button" onClick={() => labs.forEach(({ project_id: id }) => download(exportAddress(id)))}>
        {texts.export}
      </button>
      {mayAll('projects:write', 'owner') && (
        <button type="button" class="danger" onClick={() => (opened.value = 'deletion')}>
          {texts.remove}
        </button>
      )}
      {opened.value === 'share' && labs[0] !== undefined && <ShareLab lab={labs[0]} onClose={close} />}
      {opened.value === 'snapshot' && (
        <SnapshotOfEach
          labs={labs}
          onClose={close}
          run={(name) => each(texts.snapshotting, (id) => createSnapshot(id, name))}
        />
      )}
      {opened.value === 'deletion' && (
        <Deletion
          title={texts.removal(labs.length)}
          names={labs.map(nameOf)}
          call={deleteProject(labs[0]?.project_id ?? '')}
          onClose={close}
          run={async () => {
            await each(texts.deleting, deleteProject);
            selected.value = new Set();
          }}
        />
      )}
    </div>
  );
}

interface SnapshotOfEachProps {
  readonly labs: readonly ProjectShape[];
  readonly onClose: () => void;
  readonly run: (name: string) => Promise<void>;
}

function SnapshotOfEach({ labs, onClose, run }: SnapshotOfEachProps): JSX.Element {
  const name = useSignal('');
  const wanted = name.value.trim();
  const act = async (): Promise<void> => {
    onClose();
    await run(wanted);
    tell(texts.snapshotsEnded(labs.length));
  };
  return (
    <Dialog
      title={texts.snapshotTitle(labs.length)}
      onClose={onClose}
      action={{
        name: texts.snapshotButton,
        call: createSnapshot(labs[0]?.project_id ?? '', wanted),
        run: () => void act(),
        isDisabled: wanted === '',
      }}
    >
      <TextField label={texts.snapshotName} value={name} maxLength={255} />
    </Dialog>
  );
}
