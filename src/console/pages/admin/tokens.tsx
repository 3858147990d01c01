/** Tokens: one's own, and for admins those of others. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ShownTokenShape, TokenShape, UserShape } from '../../../api/shapes/accounts.js';
import { deleteToken, listTokens, listUsers } from '../../api/accounts.js';
import { Deletion } from '../../parts/deletion.js';
import { Failure, Loading } from '../../parts/notice.js';
import { Moment } from '../../parts/quantity.js';
import type { Column } from '../../parts/table.js';
import { may } from '../../state/account.js';
import { sendEach } from '../../state/bulk.js';
import { useCommands } from '../../state/commands.js';
import { useReading } from '../../state/reading.js';
import { hasOwn } from '../../state/subjects.js';
import { AdminFrame } from './admin-frame.js';
import { NewToken } from './new-token.js';
import { ShownOnce } from './shown-once.js';
import { SubjectTable } from './subject-table.js';
import { ADMIN_TEXTS } from './texts.js';
import { tokenLines } from './token-lines.js';

const { tokens: texts } = ADMIN_TEXTS;

const nameOf = ({ name }: TokenShape): string => name;
const idOf = ({ token_id: id }: TokenShape): string => id;

const COLUMNS: readonly Column<TokenShape>[] = [
  { title: texts.name, order: nameOf, cell: nameOf },
  {
    title: texts.rights,
    order: ({ rights }) => rights?.length ?? Infinity,
    cell: ({ rights }) =>
      rights === null ? texts.allRights : <span title={rights.join(', ')}>{rightsText(rights)}</span>,
  },
  {
    title: texts.labs,
    order: ({ projects }) => projects?.length ?? Infinity,
    cell: ({ projects }) => (projects === null ? texts.allLabs : String(projects.length)),
    isSecondary: true,
  },
  {
    title: texts.used,
    order: ({ last_used_at: time }) => time ?? '',
    cell: ({ last_used_at: time }) => (time === null ? texts.never : <Moment time={time} />),
  },
  {
    title: texts.ends,
    order: ({ expires_at: time }) => time ?? '~',
    cell: ({ expires_at: time }) =>
      time === null ? texts.never : <time dateTime={time}>{new Date(time).toLocaleDateString()}</time>,
    isSecondary: true,
  },
];

const rightsText = (rights: readonly string[]): string =>
  rights.length === 1 ? (rights[0] ?? '') : texts.rightsOf(rights.length);

export function TokensPage(): JSX.Element {
  return (
    <AdminFrame subject="tokens">{may('users:read') ? <TokensOfAll /> : <Tokens owners={[]} />}</AdminFrame>
  );
}

function TokensOfAll(): JSX.Element {
  const { answer, error } = useReading('users', listUsers);
  if (error.value !== undefined) return <Failure error={error.value} />;
  return answer.value === undefined ? <Loading /> : <Tokens owners={answer.value} />;
}

/** `owners` are the users whose names are known. */
function Tokens({ owners }: { readonly owners: readonly UserShape[] }): JSX.Element {
  const reading = useReading('tokens', listTokens);
  const { answer, error } = reading;
  const rows = useComputed<readonly TokenShape[]>(() => answer.value ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const opened = useSignal<'creation' | 'deletion' | undefined>(undefined);
  const made = useSignal<ShownTokenShape | undefined>(undefined);
  const create = (): void => {
    opened.value = 'creation';
  };
  useCommands(() => (hasOwn() ? [{ name: texts.create, run: create }] : []));
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const names = new Map(owners.map(({ user_id: id, name }) => [id, name]));
  const ownerOf = ({ user_id: id }: TokenShape): string => names.get(id) ?? '';
  const owner: Column<TokenShape> = { title: texts.owner, order: ownerOf, cell: ownerOf };
  const chosen = rows.value.filter((token) => selected.value.has(idOf(token)));
  const [first] = chosen;
  const close = (): void => {
    opened.value = undefined;
  };
  const { value: now } = opened;
  return (
    <>
      <SubjectTable
        subject="tokens"
        texts={texts}
        rows={rows}
        columns={owners.length > 0 ? [...COLUMNS.slice(0, 1), owner, ...COLUMNS.slice(1)] : COLUMNS}
        idOf={idOf}
        nameOf={nameOf}
        textOf={(token) => `${token.name} ${ownerOf(token)}`}
        selected={selected}
        create={hasOwn() ? create : undefined}
        remove={chosen.length > 0 ? () => (opened.value = 'deletion') : undefined}
      />
      {!hasOwn() && <p class="hint">{texts.noOwn}</p>}
      {now === 'creation' && (
        <NewToken reading={reading} show={(token) => (made.value = token)} onClose={close} />
      )}
      {now === 'deletion' && first !== undefined && (
        <Deletion
          title={texts.removal(chosen.length)}
          names={chosen.map(nameOf)}
          call={deleteToken(idOf(first))}
          run={async () => {
            await sendEach(chosen, (token) => deleteToken(idOf(token)), nameOf);
            await reading.again();
          }}
          onClose={close}
        />
      )}
      {now === undefined && made.value !== undefined && (
        <ShownOnce
          title={texts.shown(made.value.name)}
          label={texts.secret}
          secret={made.value.token}
          lines={tokenLines(made.value.token)}
          onClose={() => (made.value = undefined)}
        />
      )}
    </>
  );
}
