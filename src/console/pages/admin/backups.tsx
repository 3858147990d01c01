/** Backups of the whole server: made, verified, downloaded, deleted. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { BackupSummaryShape, BackupVerificationShape } from '../../../api/shapes/backups.js';
import {
  backupAddress,
  createBackup,
  deleteBackup,
  listBackups,
  verifyBackup,
} from '../../api/administration.js';
import { send } from '../../api/call.js';
import { cancelJob } from '../../api/jobs.js';
import { ActionDialog } from '../../parts/action-dialog.js';
import { Deletion } from '../../parts/deletion.js';
import { download } from '../../parts/download.js';
import { Icon } from '../../parts/icon.js';
import { Empty, Failure, Loading } from '../../parts/notice.js';
import { bytesText, countText, Moment } from '../../parts/quantity.js';
import { useCommands } from '../../state/commands.js';
import { ended, runningJobs } from '../../state/jobs.js';
import { useReading } from '../../state/reading.js';
import { failed } from '../../state/toasts.js';
import { AdminFrame } from './admin-frame.js';
import { ADMIN_TEXTS } from './texts.js';

const { backups: texts } = ADMIN_TEXTS;

export function BackupsPage(): JSX.Element {
  const reading = useReading('backups', listBackups, (action) => /^job\.(started|ended)$/.test(action));
  const { answer, error, again } = reading;
  const opened = useSignal<{ readonly dialog: 'creation' } | { readonly removed: string } | undefined>(
    undefined,
  );
  const create = (): void => {
    opened.value = { dialog: 'creation' };
  };
  useCommands(() => [{ name: texts.create, run: create }]);
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const { backups, damaged, making, failure, keep, verifications } = answer.value;
  const close = (): void => {
    opened.value = undefined;
  };
  const { value: now } = opened;
  return (
    <AdminFrame subject="backups">
      <div class="bar">
        <span class="count">{texts.kept(keep)}</span>
        <button type="button" class="primary" onClick={create}>
          <Icon name="plus" />
          {texts.create}
        </button>
      </div>
      {failure !== null && (
        <p class="notice failure" role="alert">
          {texts.failure(failure)}
        </p>
      )}
      {making.map(({ backup_id: id }) => (
        <Making key={id} id={id} />
      ))}
      {backups.length + damaged.length + making.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      <ul class="jobs" aria-label={texts.list}>
        {[...backups].reverse().map((backup) => (
          <Backup
            key={backup.backup_id}
            backup={backup}
            verification={verifications.find(({ backup_id: id }) => id === backup.backup_id)}
            verify={() => void reading.change((known) => known, verifyBackup(backup.backup_id))}
            remove={() => (opened.value = { removed: backup.backup_id })}
          />
        ))}
        {damaged.map((id) => (
          <li key={id} class="card">
            <div class="bar">
              <code class="count">{id}</code>
              <span class="state bad">
                <span aria-hidden="true">✖</span> {texts.unreadable}
              </span>
              <button
                type="button"
                class="danger"
                aria-label={texts.removeOf(id)}
                onClick={() => (opened.value = { removed: id })}
              >
                {texts.remove}
              </button>
            </div>
          </li>
        ))}
      </ul>
      {now !== undefined && 'dialog' in now && (
        <ActionDialog
          title={texts.create}
          button={texts.createButton}
          call={createBackup()}
          isReady
          run={() => reading.change((known) => known, createBackup())}
          onClose={close}
        >
          <p>{texts.createHint}</p>
        </ActionDialog>
      )}
      {now !== undefined && 'removed' in now && (
        <Deletion
          title={texts.removal}
          names={[now.removed]}
          call={deleteBackup(now.removed)}
          run={async () => {
            await send(deleteBackup(now.removed)).then(ended).catch(failed);
            await again();
          }}
          onClose={close}
        />
      )}
    </AdminFrame>
  );
}

/** The job of a backup that is being made. */
function Making({ id }: { readonly id: string }): JSX.Element {
  const job = runningJobs.value.find(({ subject, kind }) => subject === id && kind === 'backup.create');
  const { done = 0, total = 0 } = job ?? {};
  return (
    <div class="card" role="status">
      <strong>{texts.making}</strong>
      <progress aria-label={texts.making} max={Math.max(1, total)} value={total > 0 ? done : undefined} />
      {job !== undefined && (
        <button type="button" onClick={() => void send(cancelJob(job)).catch(failed)}>
          {texts.cancel}
        </button>
      )}
    </div>
  );
}

interface BackupProps {
  readonly backup: BackupSummaryShape;
  readonly verification: BackupVerificationShape | undefined;
  readonly verify: () => void;
  readonly remove: () => void;
}

function Backup({ backup, verification, verify, remove }: BackupProps): JSX.Element {
  const { backup_id: id, created_at: time, version, projects, size, added } = backup;
  const { crash_consistent: held, left_out: leftOut } = backup;
  const { found = null, state, reason = null } = verification ?? {};
  const isBusy = state === 'waiting' || state === 'running';
  const exact = new Date(time).toLocaleString();
  return (
    <li class="card">
      <div class="bar">
        <strong>{exact}</strong>
        <span class="count">
          <Moment time={time} />
        </span>
        <button type="button" disabled={isBusy} aria-label={texts.verifyOf(exact)} onClick={verify}>
          {isBusy ? texts.verifying : texts.verify}
        </button>
        <button
          type="button"
          aria-label={texts.downloadOf(exact)}
          onClick={() => download(backupAddress(id))}
        >
          {texts.download}
        </button>
        <button type="button" class="danger" aria-label={texts.removeOf(exact)} onClick={remove}>
          {texts.remove}
        </button>
      </div>
      <p class="hint">
        {texts.facts(countText(projects), bytesText(size), bytesText(added), version)} <code>{id}</code>
      </p>
      {held.length > 0 && <p>{texts.crashConsistent(held.join(', '))}</p>}
      {leftOut.length > 0 && (
        <>
          <p class="state bad">
            <span aria-hidden="true">✖</span> {texts.leftOut(leftOut.length)}
          </p>
          <ul class="names" aria-label={texts.leftOut(leftOut.length)} tabIndex={0}>
            {leftOut.map(({ project_id: project, name, reason }) => (
              <li key={project}>
                {name}: {reason}
              </li>
            ))}
          </ul>
        </>
      )}
      {reason !== null && <span class="state bad">{reason}</span>}
      {found?.faults === 0 && (
        <span class="state good" role="status">
          <span aria-hidden="true">✓</span> {texts.whole}
        </span>
      )}
      {found !== null && found.faults > 0 && (
        <ul class="names" aria-label={texts.damaged} tabIndex={0}>
          {found.damaged.map(({ path, reason }) => (
            <li key={path}>
              {path}: {reason}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
