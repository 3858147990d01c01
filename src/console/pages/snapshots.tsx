/** The snapshots of a lab: what has changed since, and how to go back. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { SnapshotShape } from '../../api/shapes/snapshots.js';
import { send } from '../api/call.js';
import { listNodeNames, showProject } from '../api/projects.js';
import {
  compareSnapshot,
  createSnapshot,
  deleteSnapshot,
  listSnapshots,
  snapshotArchive,
} from '../api/snapshots.js';
import { Deletion } from '../parts/deletion.js';
import { Dialog } from '../parts/dialog.js';
import { download } from '../parts/download.js';
import { Icon } from '../parts/icon.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { Moment } from '../parts/quantity.js';
import { mayOn, useGrant } from '../state/grants.js';
import { useCommands } from '../state/commands.js';
import { addressOf } from '../state/place.js';
import { useReading } from '../state/reading.js';
import { failed, tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';
import type { PageProps } from './page-props.js';
import { SnapshotChanges, type FoundChanges, type NamedNode } from './snapshot-changes.js';
import { Restoration } from './snapshot-restoration.js';
import { TextField } from '../parts/text-field.js';

const { snapshots: texts } = TEXTS;
const MILLISECONDS = 1000;

interface Opened {
  readonly dialog: 'creation' | 'restoration' | 'deletion';
  readonly snapshot?: SnapshotShape;
  /** The one node that is restored. */
  readonly node?: NamedNode | undefined;
}

export function SnapshotsPage({ params: { id = '' } }: PageProps): JSX.Element {
  useGrant(id);
  const lab = useReading(`lab ${id}`, () => showProject(id));
  const { answer, error, again } = useReading(
    `snapshots ${id}`,
    () => listSnapshots(id),
    (action) => action === 'job.ended',
  );
  const opened = useSignal<Opened | undefined>(undefined);
  const create = (): void => {
    opened.value = { dialog: 'creation' };
  };
  useCommands(() => (mayOn(id, 'projects:write') ? [{ name: texts.create, run: create }] : []));
  const reason = lab.error.value ?? error.value;
  if (reason !== undefined) return <Failure error={reason} />;
  if (answer.value === undefined || lab.answer.value === undefined) return <Loading />;
  const { name } = lab.answer.value;
  const close = (): void => {
    opened.value = undefined;
  };
  /** The newest comes first. */
  const list = [...answer.value].reverse();
  const { value: now } = opened;
  return (
    <div class="page">
      <div class="bar">
        <h1 class="first">
          <a href={addressOf('labs')}>{TEXTS.pages.labs}</a> / {name} / {texts.title}
        </h1>
        {mayOn(id, 'projects:write') && (
          <button type="button" class="primary" onClick={create}>
            <Icon name="plus" />
            {texts.create}
          </button>
        )}
      </div>
      {list.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      <ul class="jobs">
        {list.map((snapshot) => (
          <Row
            key={snapshot.snapshot_id}
            snapshot={snapshot}
            open={(dialog, node) => (opened.value = { dialog, snapshot, node })}
          />
        ))}
      </ul>
      {now?.dialog === 'creation' && <Creation projectId={id} onClose={close} again={again} />}
      {now?.dialog === 'restoration' && now.snapshot !== undefined && (
        <Restoration snapshot={now.snapshot} node={now.node} onClose={close} />
      )}
      {now?.dialog === 'deletion' && now.snapshot !== undefined && (
        <Deletion
          title={texts.removal}
          names={[now.snapshot.name]}
          call={deleteSnapshot(now.snapshot)}
          onClose={close}
          run={async () => {
            if (now.snapshot !== undefined) await send(deleteSnapshot(now.snapshot)).catch(failed);
            await again();
          }}
        />
      )}
    </div>
  );
}

interface RowProps {
  readonly snapshot: SnapshotShape;
  readonly open: (dialog: Opened['dialog'], node?: NamedNode) => void;
}

function Row({ snapshot, open }: RowProps): JSX.Element {
  const found = useSignal<FoundChanges | undefined>(undefined);
  const isBusy = useSignal(false);
  const { name, created_at: created, description } = snapshot;
  const compare = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const changes = await send(compareSnapshot(snapshot));
      const { nodes } = await send(listNodeNames(snapshot.project_id));
      found.value = { changes, names: new Map(nodes.map(({ node_id: id, name: known }) => [id, known])) };
    } catch (error) {
      failed(error);
    }
    isBusy.value = false;
  };
  return (
    <li class="card">
      <div class="bar">
        <strong>{name}</strong>
        <span class="count">
          <Moment time={new Date(created * MILLISECONDS).toISOString()} />
        </span>
        <button
          type="button"
          disabled={isBusy}
          aria-label={texts.compareOf(name)}
          onClick={() => void compare()}
        >
          {isBusy.value ? texts.comparing : texts.compare}
        </button>
        {mayOn(snapshot.project_id, 'projects:write') && (
          <button type="button" aria-label={texts.restoreOf(name)} onClick={() => open('restoration')}>
            {texts.restore}
          </button>
        )}
        <button
          type="button"
          aria-label={texts.exportOf(name)}
          onClick={() => download(snapshotArchive(snapshot))}
        >
          {texts.export}
        </button>
        {mayOn(snapshot.project_id, 'projects:write') && (
          <button
            type="button"
            class="danger"
            aria-label={texts.removeOf(name)}
            onClick={() => open('deletion')}
          >
            {texts.remove}
          </button>
        )}
      </div>
      {description !== '' && <p>{description}</p>}
      {found.value !== undefined && (
        <SnapshotChanges
          {...found.value}
          snapshot={snapshot}
          onRestore={(node) => open('restoration', node)}
        />
      )}
    </li>
  );
}

interface CreationProps {
  readonly projectId: string;
  readonly onClose: () => void;
  readonly again: () => Promise<void>;
}

function Creation({ projectId, onClose, again }: CreationProps): JSX.Element {
  const name = useSignal('');
  const isBusy = useSignal(false);
  const call = createSnapshot(projectId, name.value.trim());
  const run = async (): Promise<void> => {
    isBusy.value = true;
    try {
      await send(call);
      tell(texts.created);
      onClose();
    } catch (error) {
      failed(error);
    }
    isBusy.value = false;
    await again();
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
      <TextField label={texts.name} value={name} maxLength={255} />
    </Dialog>
  );
}
