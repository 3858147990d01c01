/** The dialog that shares a lab: users and groups, and how far each may use it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ProjectShape } from '../../api/shapes/projects.js';
import { send } from '../api/call.js';
import { deleteGrant, listGroupGrants, listUserGrants, putGrant, type HolderKind } from '../api/grants.js';
import { Choice } from '../parts/choice.js';
import { Dialog } from '../parts/dialog.js';
import { Failure, Loading } from '../parts/notice.js';
import { TextField } from '../parts/text-field.js';
import { useReadings } from '../state/reading.js';
import { GROUP_TEXTS } from './group-texts.js';

const { share: texts } = GROUP_TEXTS;
const KINDS: readonly HolderKind[] = ['user', 'group'];
type GrantName = keyof typeof texts.grants;
const GRANTS_OF: Readonly<Record<HolderKind, readonly GrantName[]>> = {
  user: ['view', 'use', 'edit', 'owner'],
  group: ['view', 'use', 'edit'],
};

interface Holder {
  readonly kind: HolderKind;
  readonly name: string;
  readonly grant: string;
}

async function readHolders(labId: string): Promise<readonly Holder[]> {
  const [users, groups] = await Promise.all([send(listUserGrants(labId)), send(listGroupGrants(labId))]);
  return [
    ...users.map(({ name, grant }) => ({ kind: 'user' as const, name, grant })),
    ...groups.map(({ name, grant }) => ({ kind: 'group' as const, name, grant })),
  ];
}

interface ShareLabProps {
  readonly lab: Pick<ProjectShape, 'project_id' | 'name'>;
  readonly onClose: () => void;
}

export function ShareLab({ lab: { project_id: id, name: labName }, onClose }: ShareLabProps): JSX.Element {
  const reading = useReadings(id, () => readHolders(id));
  const { answer, error } = reading;
  const kind = useSignal<HolderKind>('user');
  const name = useSignal('');
  const grant = useSignal<GrantName>('use');
  const wanted = name.value.trim();
  const grants = GRANTS_OF[kind.value];
  const given = grants.includes(grant.value) ? grant.value : 'edit';
  const call = putGrant(id, kind.value, wanted, given);
  const isSame = (one: Holder, other: Pick<Holder, 'kind' | 'name'>): boolean =>
    one.kind === other.kind && one.name.toLowerCase() === other.name.toLowerCase();
  const give = async (): Promise<void> => {
    const added = { kind: kind.value, name: wanted, grant: given };
    const isDone = await reading.change(
      (now) => [...now.filter((known) => !isSame(known, added)), added],
      call,
    );
    if (isDone) name.value = '';
  };
  const take = (gone: Holder): void => {
    void reading.change(
      (now) => now.filter((known) => !isSame(known, gone)),
      deleteGrant(id, gone.kind, gone.name),
    );
  };
  return (
    <Dialog
      title={texts.title(labName)}
      onClose={onClose}
      action={{ name: texts.button, call, run: () => void give(), isDisabled: wanted === '' }}
    >
      {error.value !== undefined && <Failure error={error.value} />}
      {answer.value === undefined && error.value === undefined && <Loading />}
      {answer.value?.length === 0 && <p class="hint">{texts.nobody}</p>}
      <ul class="holders" aria-label={texts.who}>
        {(answer.value ?? []).map((holder) => (
          <li key={`${holder.kind} ${holder.name}`}>
            <span>
              {holder.name} <span class="hint">({texts.kinds[holder.kind]})</span>
            </span>
            <span class="count">{holder.grant}</span>
            <button type="button" aria-label={texts.takeOf(holder.name)} onClick={() => take(holder)}>
              {texts.take}
            </button>
          </li>
        ))}
      </ul>
      <Choice label={texts.kind} value={kind} words={KINDS} textOf={(word) => texts.kinds[word]} />
      <TextField label={texts.name} value={name} maxLength={64} />
      <Choice label={texts.grant} value={grant} words={grants} textOf={(word) => texts.grants[word]} />
    </Dialog>
  );
}
