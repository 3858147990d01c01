/** The dialog that deals a lab to a group. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { dealLab } from '../api/deals.js';
import { listProjects } from '../api/projects.js';
import { ActionDialog } from '../parts/action-dialog.js';
import { Choice } from '../parts/choice.js';
import { succeeds } from '../state/bulk.js';
import { mayOn } from '../state/grants.js';
import { useReading } from '../state/reading.js';
import { tell } from '../state/toasts.js';
import { GROUP_TEXTS } from './group-texts.js';

const { dealt: texts } = GROUP_TEXTS;

interface DealDialogProps {
  readonly group: string;
  readonly onClose: () => void;
}

export function DealDialog({ group, onClose }: DealDialogProps): JSX.Element {
  const chosen = useSignal('');
  const { answer } = useReading('labs', listProjects);
  const labs = (answer.value ?? []).filter(({ project_id: lab }) => mayOn(lab, 'projects:write'));
  const [first] = labs;
  const id = chosen.value === '' ? (first?.project_id ?? '') : chosen.value;
  const names = new Map(labs.map(({ project_id: known, name }) => [known, name]));
  const call = dealLab(id, group);
  return (
    <ActionDialog
      title={texts.deal}
      button={texts.dealButton}
      call={call}
      isReady={id !== ''}
      run={() =>
        succeeds(call, () => {
          tell(texts.begun);
        })
      }
      onClose={onClose}
    >
      <Choice
        label={texts.which}
        value={chosen}
        words={[...names.keys()]}
        textOf={(known) => names.get(known) ?? ''}
      />
      <p class="hint">{texts.dealHint}</p>
    </ActionDialog>
  );
}
