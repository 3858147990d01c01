/** Groups of users, with their members and teachers. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { GroupShape } from '../../../api/shapes/groups.js';
import { createGroup, deleteGroup, listGroups, updateGroup } from '../../api/groups.js';
import { ActionDialog } from '../../parts/action-dialog.js';
import { Deletion } from '../../parts/deletion.js';
import { Failure, Loading } from '../../parts/notice.js';
import { countText } from '../../parts/quantity.js';
import type { Column } from '../../parts/table.js';
import { TextArea } from '../../parts/text-area.js';
import { TextField } from '../../parts/text-field.js';
import { account, may } from '../../state/account.js';
import { sendEach } from '../../state/bulk.js';
import { useCommands } from '../../state/commands.js';
import { addressOf } from '../../state/place.js';
import { useReading } from '../../state/reading.js';
import { AdminFrame } from './admin-frame.js';
import { SubjectTable } from './subject-table.js';
import { ADMIN_TEXTS } from './texts.js';

const { groups: texts } = ADMIN_TEXTS;

type Reading = ReturnType<typeof useReading<GroupShape[]>>;

const nameOf = ({ name }: GroupShape): string => name;
const idOf = ({ group_id: id }: GroupShape): string => id;

/** Whether the labs of the group are shown to this account. */
function teaches({ teachers }: GroupShape): boolean {
  const { value } = account;
  return may('users:write') || (typeof value === 'object' && teachers.includes(value.name));
}

const COLUMNS: readonly Column<GroupShape>[] = [
  {
    title: texts.name,
    order: nameOf,
    cell: (group) =>
      teaches(group) ? <a href={addressOf('groups', group.name, 'labs')}>{group.name}</a> : group.name,
  },
  {
    title: texts.members,
    order: ({ members }) => members.length,
    cell: ({ members }) => countText(members.length),
    isNumber: true,
  },
  {
    title: texts.teachers,
    order: ({ teachers }) => teachers.join(),
    cell: ({ teachers }) => teachers.join(', '),
  },
];

export function GroupsPage(): JSX.Element {
  const reading = useReading('groups', listGroups);
  const { answer, error } = reading;
  const rows = useComputed<readonly GroupShape[]>(() => answer.value ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const opened = useSignal<GroupShape | 'creation' | 'deletion' | undefined>(undefined);
  const mayChange = may('users:write');
  const create = (): void => {
    opened.value = 'creation';
  };
  useCommands(() => (mayChange ? [{ name: texts.create, run: create }] : []));
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const actions: Column<GroupShape> = {
    title: texts.actions,
    order: nameOf,
    cell: (group) => (
      <button type="button" aria-label={texts.changeOf(group.name)} onClick={() => (opened.value = group)}>
        {texts.change}
      </button>
    ),
  };
  const chosen = rows.value.filter((group) => selected.value.has(idOf(group)));
  const [first] = chosen;
  const close = (): void => {
    opened.value = undefined;
  };
  const { value: now } = opened;
  return (
    <AdminFrame subject="groups">
      <SubjectTable
        subject="groups"
        texts={texts}
        rows={rows}
        columns={mayChange ? [...COLUMNS, actions] : COLUMNS}
        idOf={idOf}
        nameOf={nameOf}
        textOf={({ name, members, teachers }) => [name, ...members, ...teachers].join(' ')}
        {...(mayChange && { selected })}
        create={mayChange ? create : undefined}
        remove={chosen.length > 0 ? () => (opened.value = 'deletion') : undefined}
      />
      {(now === 'creation' || typeof now === 'object') && (
        <GroupForm reading={reading} group={typeof now === 'object' ? now : undefined} onClose={close} />
      )}
      {now === 'deletion' && first !== undefined && (
        <Deletion
          title={texts.removal(chosen.length)}
          names={chosen.map(nameOf)}
          call={deleteGroup(first.name)}
          run={async () => {
            await sendEach(chosen, (group) => deleteGroup(group.name), nameOf);
            await reading.again();
          }}
          onClose={close}
        />
      )}
    </AdminFrame>
  );
}

interface GroupFormProps {
  readonly reading: Reading;
  /** The group that is changed; without it, one is made. */
  readonly group: GroupShape | undefined;
  readonly onClose: () => void;
}

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

function GroupForm({ reading, group, onClose }: GroupFormProps): JSX.Element {
  const name = useSignal(group?.name ?? '');
  const members = useSignal(group?.members.join('\n') ?? '');
  const teachers = useSignal(group?.teachers.join('\n') ?? '');
  const fields = {
    name: name.value.trim(),
    members: linesOf(members.value),
    teachers: linesOf(teachers.value),
  };
  const call = group === undefined ? createGroup(fields) : updateGroup(group.name, fields);
  return (
    <ActionDialog
      title={group === undefined ? texts.create : texts.changeOf(group.name)}
      button={group === undefined ? texts.createButton : texts.changeButton}
      call={call}
      isReady={fields.name !== ''}
      run={() =>
        reading.change((now) => now.map((known) => (known === group ? { ...known, ...fields } : known)), call)
      }
      onClose={onClose}
    >
      <TextField label={texts.name} value={name} maxLength={64} />
      <TextArea label={texts.memberField} value={members} />
      <TextArea label={texts.teacherField} value={teachers} />
    </ActionDialog>
  );
}
