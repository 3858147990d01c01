/** Images of emulators: those that are there, and those on their way. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ImageShape } from '../../api/shapes/images.js';
import { send } from '../api/call.js';
import {
  deleteImage,
  IMAGE_KINDS,
  imageAddress,
  listImages,
  listImageUses,
  renameImage,
  type ImageKind,
} from '../api/images.js';
import { ActionDialog } from '../parts/action-dialog.js';
import { Deletion } from '../parts/deletion.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { bytesText, Meter, percentText } from '../parts/quantity.js';
import { Table, type Column } from '../parts/table.js';
import { TextField } from '../parts/text-field.js';
import { may } from '../state/account.js';
import { useReading } from '../state/reading.js';
import { failed } from '../state/toasts.js';
import { imageUploads, upload, type ImageUpload } from '../state/uploads.js';
import { TEXTS } from '../texts.js';

const { images: texts } = TEXTS;

export function ImagesPage(): JSX.Element {
  const kind = useSignal<ImageKind>('qemu');
  const isOver = useSignal(false);
  const take = (files: FileList | null | undefined): void => {
    for (const file of files ?? []) upload(kind.value, file).catch(failed);
  };
  return (
    <div
      class={isOver.value ? 'page dropping' : 'page'}
      onDragOver={(event) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        isOver.value = false;
        if (may('images:write')) take(event.dataTransfer?.files);
      }}
    >
      <h1>{texts.title}</h1>
      <div class="bar">
        <label class="beside">
          {texts.kind}
          <select
            value={kind}
            onChange={({ currentTarget: { value } }) => {
              kind.value = IMAGE_KINDS.find((known) => known === value) ?? 'qemu';
            }}
          >
            {IMAGE_KINDS.map((known) => (
              <option key={known} value={known}>
                {texts.kinds[known]}
              </option>
            ))}
          </select>
        </label>
        {may('images:write') && (
          <label class="beside">
            {texts.choose}
            <input
              type="file"
              multiple
              onChange={({ currentTarget }) => {
                take(currentTarget.files);
                currentTarget.value = '';
              }}
            />
          </label>
        )}
      </div>
      {may('images:write') && <p class="hint">{texts.drop}</p>}
      {imageUploads.value.length > 0 && (
        <section aria-label={texts.uploads}>
          <ul class="jobs">
            {imageUploads.value.map((known) => (
              <UploadRow key={known.id} upload={known} />
            ))}
          </ul>
        </section>
      )}
      <ImageList key={kind.value} kind={kind.value} />
    </div>
  );
}

function UploadRow({ upload: known }: { readonly upload: ImageUpload }): JSX.Element {
  const { name, size, sent, state, pause, goOn, cancel } = known;
  const share = size > 0 ? sent.value / size : 1;
  const text = `${percentText(share)}, ${bytesText(sent.value)} / ${bytesText(size)}`;
  return (
    <li class="card">
      <Meter label={name} share={share} text={text} />
      <div class="bar">
        <span class="count" role="status">
          {texts.states[state.value]}
        </span>
        {state.value === 'sending' && (
          <button type="button" aria-label={texts.pauseOf(name)} onClick={pause}>
            {texts.pause}
          </button>
        )}
        {(state.value === 'paused' || state.value === 'failed') && (
          <button type="button" aria-label={texts.goOnOf(name)} onClick={goOn}>
            {texts.goOn}
          </button>
        )}
        <button type="button" aria-label={texts.cancelOf(name)} onClick={cancel}>
          {state.value === 'finished' ? TEXTS.dismiss : texts.cancel}
        </button>
      </div>
    </li>
  );
}

function ImageList({ kind }: { readonly kind: ImageKind }): JSX.Element {
  const uses = useReading(
    kind,
    () => listImageUses(kind),
    (action) => action.startsWith('image.'),
  );
  const renamed = useSignal<string | undefined>(undefined);
  const reading = useReading(
    kind,
    () => listImages(kind),
    (action) => action.startsWith('upload.') || action.startsWith('image.'),
  );
  const { answer, error, again } = reading;
  const rows = useComputed(() => answer.value ?? []);
  const usersOf = ({ path }: ImageShape): number => uses.answer.value?.[path]?.nodes ?? 0;
  const removed = useSignal<string | undefined>(undefined);
  // An upload that has ended has made an image, whatever else is told about it.
  const finished = imageUploads.value.filter(({ state }) => state.value === 'finished').length;
  const seen = useSignal(finished);
  if (seen.value !== finished) {
    seen.value = finished;
    void again();
  }
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const columns: readonly Column<ImageShape>[] = [
    {
      title: texts.name,
      order: ({ filename }) => filename,
      cell: ({ filename }) => (
        <a href={imageAddress(kind, filename)} download={filename}>
          {filename}
        </a>
      ),
    },
    {
      title: texts.size,
      order: ({ filesize }) => filesize,
      cell: ({ filesize }) => bytesText(filesize),
      isNumber: true,
    },
    {
      title: texts.used,
      order: usersOf,
      cell: (image) => {
        const count = usersOf(image);
        const labs = uses.answer.value?.[image.path]?.projects ?? [];
        return <span title={labs.join(', ')}>{count === 0 ? '–' : texts.usedBy(count)}</span>;
      },
      isNumber: true,
    },
    {
      title: 'MD5',
      order: ({ md5sum }) => md5sum ?? '',
      cell: ({ md5sum }) => <code>{md5sum ?? '–'}</code>,
      isSecondary: true,
    },
    ...(may('images:write')
      ? [
          {
            title: texts.actions,
            order: ({ filename }: ImageShape) => filename,
            cell: ({ filename }: ImageShape) => (
              <span class="row-actions">
                <button
                  type="button"
                  aria-label={texts.renameOf(filename)}
                  onClick={() => (renamed.value = filename)}
                >
                  {texts.rename}
                </button>
                <button
                  type="button"
                  class="danger"
                  aria-label={texts.removeOf(filename)}
                  onClick={() => (removed.value = filename)}
                >
                  {texts.remove}
                </button>
              </span>
            ),
          },
        ]
      : []),
  ];
  const remove = async (name: string): Promise<void> => {
    try {
      await send(deleteImage(kind, name));
    } catch (reason) {
      failed(reason);
    }
    await again();
  };
  return (
    <>
      <Table
        label={texts.title}
        filterLabel={texts.filter}
        rows={rows}
        columns={columns}
        idOf={({ path }) => path}
        nameOf={({ filename }) => filename}
        textOf={({ filename, md5sum }) => `${filename} ${md5sum ?? ''}`}
      />
      {rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      {renamed.value !== undefined && (
        <Renaming
          kind={kind}
          name={renamed.value}
          reading={reading}
          onClose={() => (renamed.value = undefined)}
        />
      )}
      {removed.value !== undefined && (
        <Deletion
          title={texts.removal}
          names={[removed.value]}
          call={deleteImage(kind, removed.value)}
          run={() => remove(removed.value ?? '')}
          onClose={() => (removed.value = undefined)}
        />
      )}
    </>
  );
}

interface RenamingProps {
  readonly kind: ImageKind;
  readonly name: string;
  readonly reading: ReturnType<typeof useReading<ImageShape[]>>;
  readonly onClose: () => void;
}

function Renaming({ kind, name, reading, onClose }: RenamingProps): JSX.Element {
  const typed = useSignal(name);
  const wanted = typed.value.trim();
  const call = renameImage(kind, name, wanted);
  return (
    <ActionDialog
      title={texts.renameOf(name)}
      button={texts.renameButton}
      call={call}
      isReady={wanted !== '' && wanted !== name}
      run={() =>
        reading.change(
          (now) => now.map((known) => (known.filename === name ? { ...known, filename: wanted } : known)),
          call,
        )
      }
      onClose={onClose}
    >
      <TextField label={texts.name} value={typed} maxLength={255} />
      <p class="hint">{texts.renameHint}</p>
    </ActionDialog>
  );
}
