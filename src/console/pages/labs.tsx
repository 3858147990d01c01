/** All labs: found, opened, closed, started, made, deleted. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { LabFiguresShape } from '../../api/shapes/lab-overview.js';
import type { ProjectShape } from '../../api/shapes/projects.js';
import { listProjects } from '../api/projects.js';
import { Icon } from '../parts/icon.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { Ahead, bytesText, countText } from '../parts/quantity.js';
import { Table, type Column } from '../parts/table.js';
import { hasUsers, may } from '../state/account.js';
import { useCommands } from '../state/commands.js';
import { useLabFigures } from '../state/lab-figures.js';
import { addressOf } from '../state/place.js';
import { useReading } from '../state/reading.js';
import { TEXTS } from '../texts.js';
import { LabActions } from './lab-actions.js';
import { ImportLab, NewLab } from './new-lab.js';

const { labs: texts } = TEXTS;

const NAME: Column<ProjectShape> = {
  title: texts.name,
  order: ({ name }) => name,
  cell: ({ name, project_id: id }) => <a href={addressOf('labs', id)}>{name}</a>,
};

export function LabsPage(): JSX.Element {
  const { answer, error, again } = useReading('labs', listProjects, (action) =>
    action.startsWith('project.'),
  );
  const glances = useLabFigures();
  const rows = useComputed(() => answer.value ?? []);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const doing = useSignal<ReadonlyMap<string, string>>(new Map());
  const opened = useSignal<'new' | 'import' | undefined>(undefined);
  const chosen = useComputed(() => rows.value.filter(({ project_id: id }) => selected.value.has(id)));
  const make = (): void => {
    opened.value = 'new';
  };
  const bring = (): void => {
    opened.value = 'import';
  };
  useCommands(() =>
    may('projects:write')
      ? [
          { name: texts.create, run: make },
          { name: texts.import, run: bring },
        ]
      : [],
  );
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const runningOf = ({ project_id: id }: ProjectShape): LabFiguresShape['running'] =>
    glances.value.get(id)?.figures.running ?? null;
  const ownersOf = ({ project_id: id }: ProjectShape): string =>
    glances.value.get(id)?.figures.owners.join(', ') ?? '';
  const endOf = ({ project_id: id }: ProjectShape): string | null =>
    glances.value.get(id)?.figures.ends_at ?? null;
  const rateOf = ({ project_id: id }: ProjectShape): number | undefined => glances.value.get(id)?.rate;
  const counted = (
    title: string,
    of: (running: NonNullable<LabFiguresShape['running']>) => number,
    textOf: (running: NonNullable<LabFiguresShape['running']>) => string,
  ): Column<ProjectShape> => ({
    title,
    order: (lab) => {
      const running = runningOf(lab);
      return running === null ? -1 : of(running);
    },
    cell: (lab) => {
      const running = runningOf(lab);
      return running === null ? '–' : textOf(running);
    },
    isNumber: true,
    isSecondary: true,
  });
  const columns: readonly Column<ProjectShape>[] = [
    NAME,
    ...(hasUsers() ? [{ title: texts.owner, order: ownersOf, cell: ownersOf, isSecondary: true }] : []),
    {
      title: texts.state,
      order: ({ status }) => status,
      cell: ({ status, project_id: id }) => <State status={status} doing={doing.value.get(id)} />,
    },
    counted(
      texts.nodes,
      ({ nodes }) => nodes,
      ({ started, nodes }) => `${countText(started)}/${countText(nodes)}`,
    ),
    counted(
      texts.links,
      ({ links }) => links,
      ({ links }) => countText(links),
    ),
    {
      title: texts.traffic,
      order: (lab) => rateOf(lab) ?? -1,
      cell: (lab) => {
        const rate = rateOf(lab);
        return rate === undefined ? '–' : `${bytesText(rate)}/s`;
      },
      isNumber: true,
      isSecondary: true,
    },
    counted(
      texts.captures,
      ({ captures }) => captures,
      ({ captures }) => (captures === 0 ? '–' : `${countText(captures)} ●`),
    ),
    {
      title: texts.ends,
      order: (lab) => endOf(lab) ?? '~',
      cell: (lab) => {
        const end = endOf(lab);
        return end === null ? '–' : <Ahead time={end} />;
      },
      isSecondary: true,
    },
    {
      title: texts.snapshots,
      order: ({ name }) => name,
      cell: ({ name, project_id: id }) => (
        <a href={addressOf('labs', id, 'snapshots')} aria-label={texts.snapshotsOf(name)}>
          {texts.snapshots}
        </a>
      ),
      isSecondary: true,
    },
  ];
  const close = (): void => {
    opened.value = undefined;
  };
  return (
    <div class="page">
      <h1>{texts.title}</h1>
      <Table
        label={texts.title}
        filterLabel={texts.filter}
        rows={rows}
        columns={columns}
        idOf={({ project_id: id }) => id}
        nameOf={({ name }) => name}
        textOf={(lab) => `${lab.name} ${texts.states[lab.status]} ${ownersOf(lab)}`}
        selected={selected}
      >
        {may('projects:write') && (
          <>
            <button type="button" onClick={bring}>
              {texts.import}
            </button>
            <button type="button" class="primary" onClick={make}>
              <Icon name="plus" />
              {texts.create}
            </button>
          </>
        )}
        {chosen.value.length > 0 && (
          <LabActions labs={chosen.value} selected={selected} doing={doing} again={again} />
        )}
      </Table>
      {rows.value.length === 0 && (
        <Empty>
          <p>{texts.empty}</p>
        </Empty>
      )}
      {opened.value === 'new' && <NewLab onClose={close} />}
      {opened.value === 'import' && <ImportLab onClose={close} />}
    </div>
  );
}

interface StateProps {
  readonly status: ProjectShape['status'];
  /** The word for what is being done to the lab. */
  readonly doing: string | undefined;
}

function State({ status, doing }: StateProps): JSX.Element {
  if (doing !== undefined)
    return (
      <span class="state">
        <span aria-hidden="true">◌</span> {doing}
      </span>
    );
  return (
    <span class={`state ${status}`}>
      <span aria-hidden="true">{status === 'opened' ? '●' : '○'}</span> {texts.states[status]}
    </span>
  );
}
