/** The page of a teacher: the copies that the members of a group have of the labs that were dealt to it. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { DealtLabShape } from '../../api/shapes/deals.js';
import { send } from '../api/call.js';
import { listCopies, listDealtLabs, type MemberCopy } from '../api/deals.js';
import { listLabFigures } from '../api/projects.js';
import { Icon } from '../parts/icon.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { Ahead, Moment } from '../parts/quantity.js';
import { Table, type Column } from '../parts/table.js';
import { may } from '../state/account.js';
import { useCommands } from '../state/commands.js';
import { learnGrants } from '../state/grants.js';
import { runningJobs } from '../state/jobs.js';
import { addressOf, consolesAddress } from '../state/place.js';
import { useReadings } from '../state/reading.js';
import { TEXTS } from '../texts.js';
import { CopyActions } from './copy-actions.js';
import { DealDialog } from './deal-dialog.js';
import { GROUP_TEXTS } from './group-texts.js';
import type { PageProps } from './page-props.js';

const { dealt: texts } = GROUP_TEXTS;
/** A request each: so many labs are shown at most, those that were dealt last. */
const MOST_LABS = 20;
const CHANGES = /^(project\.|job\.ended)/;

interface Dealt {
  readonly labs: readonly DealtLabShape[];
  readonly copies: readonly MemberCopy[];
}

async function readDealt(group: string): Promise<Dealt> {
  const [labs, figures] = await Promise.all([send(listDealtLabs(group)), send(listLabFigures())]);
  learnGrants(figures);
  const ofLabs = labs.slice(-MOST_LABS).map(async (lab) => {
    const copies = await send(listCopies(lab.project_id, group));
    return copies.map((copy) => ({ ...copy, lab }));
  });
  return { labs, copies: (await Promise.all(ofLabs)).flat() };
}

const idOf = ({ lab, user_id: id }: MemberCopy): string => `${lab.project_id} ${id}`;
const nameOf = ({ lab, member }: MemberCopy): string => texts.rowOf(member, lab.name);

const COLUMNS: readonly Column<MemberCopy>[] = [
  {
    title: texts.member,
    order: ({ member }) => member,
    cell: ({ member, project_id: id }) =>
      id === null ? member : <a href={addressOf('labs', id)}>{member}</a>,
  },
  { title: texts.lab, order: ({ lab }) => lab.name, cell: ({ lab }) => lab.name },
  {
    title: texts.state,
    order: ({ state }) => state,
    cell: ({ state, problem }) => (
      <span class={problem === null ? `state ${state === 'running' ? 'good' : ''}` : 'state bad'}>
        <span aria-hidden="true">{state === 'running' ? '●' : '○'}</span> {texts.states[state]}
        {problem !== null && <span title={problem}> ✖ {problem}</span>}
      </span>
    ),
  },
  {
    title: texts.used,
    order: ({ last_used_at: time }) => time ?? '',
    cell: ({ last_used_at: time }) => time !== null && <Moment time={time} />,
    isSecondary: true,
  },
  {
    title: texts.ends,
    order: ({ ends_at: time }) => time ?? '~',
    cell: ({ ends_at: time }) => time !== null && <Ahead time={time} />,
    isSecondary: true,
  },
  {
    title: texts.consoles,
    order: ({ state }) => state,
    cell: ({ member, lab, project_id: id, state }) =>
      id !== null &&
      (state === 'open' || state === 'running') && (
        <a href={consolesAddress(id)} aria-label={texts.consolesOf(member, lab.name)}>
          {texts.consoles}
        </a>
      ),
  },
];

export function DealtLabsPage({ params: { name: group = '' } }: PageProps): JSX.Element {
  const { answer, error, again } = useReadings(
    group,
    () => readDealt(group),
    (action) => CHANGES.test(action),
  );
  const rows = useComputed<readonly MemberCopy[]>(() => answer.value?.copies ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const isDealing = useSignal(false);
  const deal = (): void => {
    isDealing.value = true;
  };
  useCommands(() => (may('projects:write') ? [{ name: texts.deal, run: deal }] : []));
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const { labs } = answer.value;
  const chosen = rows.value.filter((copy) => selected.value.has(idOf(copy)));
  const jobs = runningJobs.value.filter(({ kind, subject }) => kind.startsWith('deal.') && subject === group);
  return (
    <div class="page">
      <h1>
        <a href={addressOf('admin', 'groups')}>{TEXTS.pages.groups}</a> / {texts.title(group)}
      </h1>
      {jobs.map((job) => (
        <div key={job.job_id} class="card" role="status">
          <strong>{TEXTS.jobs.kindOf(job.kind)}</strong>
          <progress
            aria-label={TEXTS.jobs.kindOf(job.kind)}
            max={Math.max(1, job.total)}
            value={job.total > 0 ? job.done : undefined}
          />
        </div>
      ))}
      <Table
        label={texts.title(group)}
        filterLabel={texts.filter}
        rows={rows}
        columns={COLUMNS}
        idOf={idOf}
        nameOf={nameOf}
        textOf={({ member, lab, state, problem }) =>
          `${member} ${lab.name} ${texts.states[state]} ${problem ?? ''}`
        }
        selected={selected}
      >
        {may('projects:write') && (
          <button type="button" class="primary" onClick={deal}>
            <Icon name="plus" />
            {texts.deal}
          </button>
        )}
        {chosen.length > 0 && <CopyActions group={group} copies={chosen} again={again} />}
      </Table>
      {labs.length > MOST_LABS && <p class="hint">{texts.more(MOST_LABS, labs.length)}</p>}
      {rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      {isDealing.value && <DealDialog group={group} onClose={() => (isDealing.value = false)} />}
    </div>
  );
}
