/** Labs that come: empty ones, and those of archives. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { newId, send, sendBytes } from '../api/call.js';
import { createProject, importProject } from '../api/projects.js';
import { Dialog } from '../parts/dialog.js';
import { TextField } from '../parts/text-field.js';
import { addressOf, go } from '../state/place.js';
import { failed, tell } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

const { labs: texts } = TEXTS;
const ARCHIVE = /\.gns3(project|p)?$|\.zip$/i;

interface NewLabProps {
  readonly onClose: () => void;
}

export function NewLab({ onClose }: NewLabProps): JSX.Element {
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
      <TextField label={texts.name} value={name} maxLength={200} />
    </Dialog>
  );
}

/** The import ends with the dialog: whoever closes it breaks it off. */
export function ImportLab({ onClose }: NewLabProps): JSX.Element {
  const file = useSignal<File | undefined>(undefined);
  const name = useSignal('');
  const isBusy = useSignal(false);
  const end = useRef(new AbortController());
  const id = useRef(newId());
  useEffect(() => () => end.current.abort(), []);
  const call = importProject(id.current, name.value.trim());
  const run = async (): Promise<void> => {
    if (file.value === undefined) return;
    isBusy.value = true;
    try {
      const { name: made } = await sendBytes(call, file.value, end.current.signal);
      tell(texts.imported(made));
      onClose();
    } catch (error) {
      if (!end.current.signal.aborted) failed(error);
    }
    isBusy.value = false;
  };
  return (
    <Dialog
      title={texts.import}
      onClose={onClose}
      action={{
        name: texts.importButton,
        call,
        run: () => void run(),
        isDisabled: isBusy.value || file.value === undefined || name.value.trim() === '',
      }}
    >
      <label>
        {texts.archive}
        <input
          type="file"
          accept=".gns3project,.gns3p,.zip"
          onChange={({ currentTarget: { files } }) => {
            file.value = files?.[0];
            name.value = file.value?.name.replace(ARCHIVE, '') ?? '';
          }}
        />
      </label>
      <TextField label={texts.name} value={name} maxLength={200} />
      {isBusy.value && <p role="status">{texts.importing}</p>}
    </Dialog>
  );
}
