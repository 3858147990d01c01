/** The dialog that restores a lab, or one node of it, from a snapshot. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { SnapshotShape } from '../../api/shapes/snapshots.js';
import { send } from '../api/call.js';
import { restoreNode, restoreSnapshot } from '../api/snapshots.js';
import { Dialog } from '../parts/dialog.js';
import { TextField } from '../parts/text-field.js';
import { ended } from '../state/jobs.js';
import { failed, tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';
import type { NamedNode } from './snapshot-changes.js';

const { snapshots: texts } = TEXTS;

interface RestorationProps {
  readonly snapshot: SnapshotShape;
  /** One node; without it the whole lab. */
  readonly node: NamedNode | undefined;
  readonly onClose: () => void;
}

/** The present state is lost, so the name is asked for. */
export function Restoration({ snapshot, node, onClose }: RestorationProps): JSX.Element {
  const typed = useSignal('');
  const isBusy = useSignal(false);
  const call = node === undefined ? restoreSnapshot(snapshot) : restoreNode(snapshot, node.id);
  const wanted = node?.name ?? snapshot.name;
  const run = async (): Promise<void> => {
    isBusy.value = true;
    try {
      if (node === undefined) {
        await send(restoreSnapshot(snapshot));
        tell(texts.restored(snapshot.name));
        onClose();
      } else if (await ended(await send(restoreNode(snapshot, node.id)))) {
        tell(texts.nodeRestored(node.name, snapshot.name));
        onClose();
      }
    } catch (error) {
      failed(error);
    }
    isBusy.value = false;
  };
  return (
    <Dialog
      title={
        node === undefined
          ? texts.restoration(snapshot.name)
          : texts.nodeRestoration(node.name, snapshot.name)
      }
      onClose={onClose}
      action={{
        name: texts.restoreButton,
        call,
        run: () => void run(),
        isDisabled: isBusy.value || typed.value.trim() !== wanted.trim(),
        isDangerous: true,
      }}
    >
      <p>{node === undefined ? texts.lost : texts.nodeLost}</p>
      <TextField label={TEXTS.deletion.typeName} value={typed} />
    </Dialog>
  );
}
