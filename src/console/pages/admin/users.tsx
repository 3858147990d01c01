/** Users: made, changed, given new passwords, deleted. */
import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { UserShape } from '../../../api/shapes/accounts.js';
import { createUser, deleteUser, listUsers, updateUser, type UserRole } from '../../api/accounts.js';
import { ActionDialog } from '../../parts/action-dialog.js';
import { Choice } from '../../parts/choice.js';
import { Deletion } from '../../parts/deletion.js';
import { Failure, Loading } from '../../parts/notice.js';
import { Moment } from '../../parts/quantity.js';
import type { Column } from '../../parts/table.js';
import { TextField } from '../../parts/text-field.js';
import { may } from '../../state/account.js';
import { sendEach } from '../../state/bulk.js';
import { useCommands } from '../../state/commands.js';
import { newPassword } from '../../state/passwords.js';
import { useReading } from '../../state/reading.js';
import { tell } from '../../state/toasts.js';
import { AdminFrame } from './admin-frame.js';
import { ShownOnce } from './shown-once.js';
import { SubjectTable } from './subject-table.js';
import { ADMIN_TEXTS } from './texts.js';

const { users: texts } = ADMIN_TEXTS;
const ROLES: readonly UserRole[] = ['user', 'admin', 'operator', 'auditor'];

type UserList = readonly UserShape[];
type Reading = ReturnType<typeof useReading<UserShape[]>>;

interface Opened {
  readonly dialog: 'creation' | 'change' | 'password' | 'deletion';
  readonly user?: UserShape;
}

const nameOf = ({ name }: UserShape): string => name;
const idOf = ({ user_id: id }: UserShape): string => id;
const signsIn = ({ has_password: has }: UserShape): string => (has ? texts.byPassword : texts.byTokens);

const COLUMNS: readonly Column<UserShape>[] = [
  { title: texts.name, order: nameOf, cell: nameOf },
  { title: texts.role, order: ({ role }) => role, cell: ({ role }) => role },
  { title: texts.state, order: signsIn, cell: signsIn, isSecondary: true },
  {
    title: texts.created,
    order: ({ created_at: time }) => time,
    cell: ({ created_at: time }) => <Moment time={time} />,
    isSecondary: true,
  },
];

export function UsersPage(): JSX.Element {
  const reading = useReading('users', listUsers);
  const { answer, error } = reading;
  const rows = useComputed<UserList>(() => answer.value ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const opened = useSignal<Opened | undefined>(undefined);
  const secret = useSignal<{ readonly name: string; readonly password: string } | undefined>(undefined);
  const mayChange = may('users:write');
  const create = (): void => {
    opened.value = { dialog: 'creation' };
  };
  useCommands(() => (mayChange ? [{ name: texts.create, run: create }] : []));
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const actions: Column<UserShape> = {
    title: texts.actions,
    order: nameOf,
    cell: (user) => (
      <span class="row-actions">
        <button
          type="button"
          aria-label={texts.changeOf(user.name)}
          onClick={() => (opened.value = { dialog: 'change', user })}
        >
          {texts.change}
        </button>
        <button
          type="button"
          aria-label={texts.resetOf(user.name)}
          onClick={() => (opened.value = { dialog: 'password', user })}
        >
          {texts.reset}
        </button>
      </span>
    ),
  };
  const chosen = rows.value.filter((user) => selected.value.has(idOf(user)));
  return (
    <AdminFrame subject="users">
      <SubjectTable
        subject="users"
        texts={texts}
        rows={rows}
        columns={mayChange ? [...COLUMNS, actions] : COLUMNS}
        idOf={idOf}
        nameOf={nameOf}
        textOf={(user) => `${user.name} ${user.role} ${signsIn(user)}`}
        {...(mayChange && { selected })}
        create={mayChange ? create : undefined}
        remove={chosen.length > 0 ? () => (opened.value = { dialog: 'deletion' }) : undefined}
      />
      <Dialogs reading={reading} opened={opened} chosen={chosen} secret={secret} />
    </AdminFrame>
  );
}

interface DialogsProps {
  readonly reading: Reading;
  readonly opened: Signal<Opened | undefined>;
  readonly chosen: UserList;
  readonly secret: Signal<{ readonly name: string; readonly password: string } | undefined>;
}

function Dialogs({ reading, opened, chosen, secret }: DialogsProps): JSX.Element | null {
  const close = (): void => {
    opened.value = undefined;
  };
  const show = (name: string, password: string): void => {
    secret.value = { name, password };
  };
  const { dialog, user } = opened.value ?? {};
  const [first] = chosen;
  if (dialog === 'creation') return <Creation reading={reading} show={show} onClose={close} />;
  if (dialog === 'change' && user !== undefined)
    return <Change reading={reading} user={user} onClose={close} />;
  if (dialog === 'password' && user !== undefined)
    return <Password reading={reading} user={user} show={show} onClose={close} />;
  if (dialog === 'deletion' && first !== undefined)
    return (
      <Deletion
        title={texts.removal(chosen.length)}
        names={chosen.map(nameOf)}
        call={deleteUser(idOf(first))}
        run={async () => {
          await sendEach(chosen, (gone) => deleteUser(idOf(gone)), nameOf);
          await reading.again();
        }}
        onClose={close}
      />
    );
  if (secret.value === undefined) return null;
  return (
    <ShownOnce
      title={texts.passwordOf(secret.value.name)}
      label={texts.passwordOf(secret.value.name)}
      secret={secret.value.password}
      onClose={() => (secret.value = undefined)}
    />
  );
}

interface CreationProps {
  readonly reading: Reading;
  readonly show: (name: string, password: string) => void;
  readonly onClose: () => void;
}

function Creation({ reading, show, onClose }: CreationProps): JSX.Element {
  // The first user of a server has to be an admin.
  const isFirst = reading.answer.value?.length === 0;
  const name = useSignal('');
  const role = useSignal<UserRole>(isFirst ? 'admin' : 'user');
  const password = useSignal(newPassword());
  const fields = { name: name.value.trim(), role: role.value, password: password.value };
  const call = createUser(fields);
  return (
    <ActionDialog
      title={texts.create}
      button={texts.createButton}
      call={call}
      isReady={fields.name !== ''}
      run={() =>
        reading.change(
          (now) => now,
          call,
          (made) => show(made.name, fields.password),
        )
      }
      onClose={onClose}
    >
      <TextField label={texts.name} value={name} maxLength={64} />
      <Choice label={texts.role} value={role} words={ROLES} textOf={(word) => texts.roles[word]} />
      <p class="hint">{texts.createHint}</p>
    </ActionDialog>
  );
}

interface ChangeProps {
  readonly reading: Reading;
  readonly user: UserShape;
  readonly onClose: () => void;
}

function Change({ reading, user, onClose }: ChangeProps): JSX.Element {
  const name = useSignal(user.name);
  const role = useSignal<UserRole>(user.role);
  const fields = { name: name.value.trim(), role: role.value };
  const call = updateUser(idOf(user), fields);
  return (
    <ActionDialog
      title={texts.changeOf(user.name)}
      button={texts.changeButton}
      call={call}
      isReady={fields.name !== '' && (fields.name !== user.name || fields.role !== user.role)}
      run={() =>
        reading.change(
          (now) => now.map((known) => (idOf(known) === idOf(user) ? { ...known, ...fields } : known)),
          call,
        )
      }
      onClose={onClose}
    >
      <TextField label={texts.name} value={name} maxLength={64} />
      <Choice label={texts.role} value={role} words={ROLES} textOf={(word) => texts.roles[word]} />
      <p class="hint">{texts.changeHint}</p>
    </ActionDialog>
  );
}

function Password({ reading, user, show, onClose }: ChangeProps & CreationProps): JSX.Element {
  const kind = useSignal<'new' | 'none'>('new');
  const made = useSignal(newPassword());
  const password = kind.value === 'new' ? made.value : null;
  const call = updateUser(idOf(user), { password });
  return (
    <ActionDialog
      title={texts.resetOf(user.name)}
      button={texts.resetButton}
      call={call}
      isReady
      run={() =>
        reading.change(
          (now) =>
            now.map((known) =>
              idOf(known) === idOf(user) ? { ...known, has_password: password !== null } : known,
            ),
          call,
          () => {
            if (password === null) tell(texts.withdrawn(user.name));
            else show(user.name, password);
          },
        )
      }
      onClose={onClose}
    >
      <Choice label={texts.kind} value={kind} words={['new', 'none']} textOf={(word) => texts.kinds[word]} />
      <p class="hint">{texts.resetHint}</p>
    </ActionDialog>
  );
}
