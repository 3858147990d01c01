/** The buttons for all copies that are selected. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Call } from '../api/call.js';
import { collectCopies, resetCopies, type MemberCopy } from '../api/deals.js';
import { closeProject, openProject, startNodes, stopNodes } from '../api/projects.js';
import { ActionDialog } from '../parts/action-dialog.js';
import { TextField } from '../parts/text-field.js';
import { sendEach } from '../state/bulk.js';
import { mayOn } from '../state/grants.js';
import { tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';
import { GROUP_TEXTS } from './group-texts.js';

const { dealt: texts } = GROUP_TEXTS;

interface CopyActionsProps {
  readonly group: string;
  readonly copies: readonly MemberCopy[];
  readonly again: () => Promise<void>;
}

interface OfLab {
  readonly id: string;
  readonly name: string;
  readonly members: readonly string[];
}

/** The selected copies, lab by lab. */
function labsOf(copies: readonly MemberCopy[]): OfLab[] {
  const ids = new Set(copies.map(({ lab }) => lab.project_id));
  return [...ids].map((id) => {
    const ofLab = copies.filter(({ lab }) => lab.project_id === id);
    return { id, name: ofLab[0]?.lab.name ?? '', members: ofLab.map(({ member }) => member) };
  });
}

export function CopyActions({ group, copies, again }: CopyActionsProps): JSX.Element {
  const opened = useSignal<'collect' | 'reset' | undefined>(undefined);
  const made = copies.filter(({ project_id: id }) => id !== null);
  const each = async (callFor: (id: string) => Call<unknown>): Promise<void> => {
    await sendEach(
      made,
      ({ project_id: id }) => callFor(id ?? ''),
      ({ member, lab }) => texts.rowOf(member, lab.name),
    );
    await again();
  };
  const close = (): void => {
    opened.value = undefined;
  };
  const dialog = { group, copies: made, onClose: close };
  return (
    <div class="actions" role="group" aria-label={texts.selected(copies.length)}>
      <span>{texts.selected(copies.length)}</span>
      {made.every(({ project_id: id }) => mayOn(id ?? '', 'run')) && (
        <>
          <button type="button" onClick={() => void each(openProject)}>
            {texts.open}
          </button>
          <button type="button" onClick={() => void each(startNodes)}>
            {texts.start}
          </button>
          <button type="button" onClick={() => void each(stopNodes)}>
            {texts.stop}
          </button>
          <button type="button" onClick={() => void each(closeProject)}>
            {texts.close}
          </button>
        </>
      )}
      {made.length > 0 && made.every(({ lab }) => mayOn(lab.project_id, 'projects:write')) && (
        <>
          <button type="button" onClick={() => (opened.value = 'collect')}>
            {texts.collect}
          </button>
          <button type="button" class="danger" onClick={() => (opened.value = 'reset')}>
            {texts.reset}
          </button>
        </>
      )}
      {opened.value === 'collect' && <Collection {...dialog} />}
      {opened.value === 'reset' && <Reset {...dialog} />}
    </div>
  );
}

interface CopyDialogProps {
  readonly group: string;
  readonly copies: readonly MemberCopy[];
  readonly onClose: () => void;
}

/** Begins a job of each lab. Failures are told lab by lab. */
async function begin(labs: readonly OfLab[], callFor: (lab: OfLab) => Call<unknown>): Promise<boolean> {
  await sendEach(labs, callFor, ({ name }) => name);
  tell(texts.begun);
  return true;
}

function Collection({ group, copies, onClose }: CopyDialogProps): JSX.Element {
  const name = useSignal('');
  const labs = labsOf(copies);
  const wanted = name.value.trim();
  const callFor = ({ id }: OfLab): Call<unknown> => collectCopies(id, group, wanted);
  return (
    <ActionDialog
      title={texts.collectTitle(labs.map(({ name: lab }) => lab).join(', '))}
      button={texts.collectButton}
      call={labs[0] === undefined ? callFor({ id: '', name: '', members: [] }) : callFor(labs[0])}
      isReady={wanted !== ''}
      run={() => begin(labs, callFor)}
      onClose={onClose}
    >
      <TextField label={texts.collectName} value={name} maxLength={100} />
      <p class="hint">{texts.collectHint}</p>
    </ActionDialog>
  );
}

/** The work of members is lost, so the name of the member, or the number of copies, is asked for. */
function Reset({ group, copies, onClose }: CopyDialogProps): JSX.Element {
  const typed = useSignal('');
  const labs = labsOf(copies);
  const [first] = copies;
  const wanted = copies.length === 1 ? (first?.member ?? '') : String(copies.length);
  const callFor = ({ id, members }: OfLab): Call<unknown> => resetCopies(id, group, members);
  return (
    <ActionDialog
      title={texts.resetTitle(copies.length)}
      button={texts.resetButton}
      call={labs[0] === undefined ? callFor({ id: '', name: '', members: [] }) : callFor(labs[0])}
      isReady={typed.value.trim() === wanted}
      isDangerous
      run={() => begin(labs, callFor)}
      onClose={onClose}
    >
      <ul class="names" tabIndex={0} aria-label={TEXTS.deletion.goes}>
        {copies.map((copy) => (
          <li key={`${copy.lab.project_id} ${copy.user_id}`}>{texts.rowOf(copy.member, copy.lab.name)}</li>
        ))}
      </ul>
      <p>{texts.resetHint}</p>
      <TextField
        label={copies.length === 1 ? TEXTS.deletion.typeName : texts.typeCount(copies.length)}
        value={typed}
      />
    </ActionDialog>
  );
}
