/** The lab file of a lab: pasted or chosen, planned, applied; and the lab as a file. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { LabPlanShape } from '../../api/shapes/lab-files.js';
import { send, sendForText } from '../api/call.js';
import { applyLabFile, labTextAddress, planLabFile, showLabFile } from '../api/lab-files.js';
import { showProject } from '../api/projects.js';
import { AsCurl } from '../parts/as-curl.js';
import { ClosedLab } from '../parts/closed-lab.js';
import { download } from '../parts/download.js';
import { Failure, Loading } from '../parts/notice.js';
import { mayOn, useGrant } from '../state/grants.js';
import { endedJobs, runningJobs } from '../state/jobs.js';
import { addressOf } from '../state/place.js';
import { useReadings } from '../state/reading.js';
import { failed } from '../state/toasts.js';
import { readLab } from './lab-file-reading.js';
import type { PageProps } from './page-props.js';
import { PLAN_TEXTS as texts } from './plan-texts.js';

interface Planned {
  readonly body: Readonly<Record<string, unknown>>;
  readonly plan: LabPlanShape;
  readonly prunes: boolean;
}

async function readState(
  id: string,
): Promise<{ name: string; isOpen: boolean; unfinished: string | undefined }> {
  const { name, status } = await send(showProject(id));
  if (status !== 'opened') return { name, isOpen: false, unfinished: undefined };
  const { state, reason } = await send(showLabFile(id));
  const unfinished = state === 'unfinished' ? texts.unfinished(reason ?? texts.noReason) : undefined;
  return { name, isOpen: true, unfinished };
}

export function PlanPage({ params: { id = '' } }: PageProps): JSX.Element {
  useGrant(id);
  const { answer, error } = useReadings(
    id,
    () => readState(id),
    (action) => /^(project\.|job\.ended)/.test(action),
  );
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const { name, isOpen, unfinished } = answer.value;
  if (!isOpen) return <ClosedLab id={id} />;
  return (
    <div class="page">
      <h1>{texts.title(name)}</h1>
      <p>
        <a href={addressOf('labs', id)}>{texts.map}</a>
      </p>
      {unfinished !== undefined && (
        <p class="notice failure" role="alert">
          {unfinished}
        </p>
      )}
      <LabFile id={id} name={name} />
    </div>
  );
}

function LabFile({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  const text = useSignal('');
  const chosen = useRef<ReadonlyMap<string, File>>(new Map());
  const prunes = useSignal(false);
  const faults = useSignal<readonly string[]>([]);
  const planned = useSignal<Planned | undefined>(undefined);
  const isBusy = useSignal(false);
  const during = async (work: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    planned.value = undefined;
    faults.value = [];
    await work().catch(failed);
    isBusy.value = false;
  };
  const plan = async (): Promise<void> => {
    const { body, faults: found } = await readLab(text.value, chosen.current);
    faults.value = found;
    if (body === undefined) return;
    const wanted = prunes.value;
    planned.value = { body, prunes: wanted, plan: await send(planLabFile(id, body, wanted)) };
  };
  const take = async (): Promise<void> => {
    text.value = await sendForText(labTextAddress(id));
  };
  const choose = async (files: FileList | null): Promise<void> => {
    chosen.current = new Map([
      ...chosen.current,
      ...[...(files ?? [])].map((file) => [file.name, file] as const),
    ]);
    const source = [...(files ?? [])].find((file) => /\.ya?ml$|\.json$/i.test(file.name));
    if (source !== undefined) text.value = await source.text();
  };
  return (
    <>
      <form
        class="lab-file"
        onSubmit={(event) => {
          event.preventDefault();
          void during(plan);
        }}
      >
        <p class="hint">{texts.hint}</p>
        <label>
          {texts.text}
          <textarea
            rows={12}
            spellcheck={false}
            required
            value={text}
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </label>
        <label>
          {texts.files}
          <input
            type="file"
            multiple
            onChange={({ currentTarget: { files } }) => void choose(files).catch(failed)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={prunes}
            onChange={({ currentTarget: { checked } }) => (prunes.value = checked)}
          />
          {texts.prunes}
        </label>
        <div class="buttons">
          <button type="button" onClick={() => void during(take)}>
            {texts.take}
          </button>
          <button type="button" onClick={() => download(labTextAddress(id), `${name}.yaml`)}>
            {texts.export}
          </button>
          <button class="primary" disabled={isBusy.value || text.value.trim() === ''}>
            {texts.plan}
          </button>
        </div>
      </form>
      {isBusy.value && <p role="status">{texts.planning}</p>}
      {faults.value.length > 0 && (
        <section class="notice failure" role="alert" aria-label={texts.faults}>
          <strong>{texts.faults}</strong>
          <ul>
            {faults.value.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
        </section>
      )}
      {planned.value !== undefined && (
        <Plan key={planned.value.plan.digest} id={id} planned={planned.value} />
      )}
    </>
  );
}

function Plan({ id, planned }: { readonly id: string; readonly planned: Planned }): JSX.Element {
  const { body, prunes, plan } = planned;
  const recreates = useSignal(false);
  const job = useSignal<string | undefined>(undefined);
  const isAnew = plan.changes.some(({ cost }) => cost === 'recreate');
  const call = applyLabFile(id, body, { prunes, recreates: recreates.value, digest: plan.digest });
  if (plan.changes.length === 0)
    return (
      <p class="notice" role="status">
        {texts.nothing}
      </p>
    );
  const apply = async (): Promise<void> => {
    job.value = '';
    try {
      ({ job_id: job.value } = await send(call));
    } catch (error) {
      failed(error);
      job.value = undefined;
    }
  };
  return (
    <section aria-label={texts.plan}>
      <h2>{texts.changes(plan.changes.length)}</h2>
      <div class="plan" tabIndex={0} role="region" aria-label={texts.changes(plan.changes.length)}>
        <table>
          <thead>
            <tr>
              {Object.values(texts.columns).map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {plan.changes.map(({ action, what, name, from, to, cost }) => (
              <tr key={`${action} ${what} ${name}`} class={cost}>
                <th scope="row">
                  {texts.actions[action]} {what} <strong>{name}</strong>
                </th>
                <td>
                  {texts.costs[cost]}
                  {cost === 'recreate' && what === 'node' && `: ${texts.lost}`}
                </td>
                <td class="mono">{shown(from)}</td>
                <td class="mono">{shown(to)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isAnew && (
        <label class="check">
          <input
            type="checkbox"
            checked={recreates}
            onChange={({ currentTarget: { checked } }) => (recreates.value = checked)}
          />
          {texts.recreates}
        </label>
      )}
      {mayOn(id, 'projects:write') && (
        <>
          <AsCurl call={call} />
          <div class="buttons">
            <button
              type="button"
              class={isAnew ? 'danger' : 'primary'}
              disabled={job.value !== undefined || (isAnew && !recreates.value)}
              onClick={() => void apply()}
            >
              {texts.apply}
            </button>
          </div>
        </>
      )}
      {job.value !== undefined && <Application job={job.value} />}
    </section>
  );
}

/** Tells how the job gets on, and how it has ended. */
function Application({ job }: { readonly job: string }): JSX.Element {
  const running = runningJobs.value.find(({ job_id: id }) => id === job);
  const ended = endedJobs.value.find(({ job_id: id }) => id === job);
  if (ended !== undefined)
    return (
      <p class={ended.outcome === 'done' ? 'notice state good' : 'notice failure'} role="status">
        {ended.outcome === 'done' ? `✓ ${texts.applied}` : (ended.reason ?? '')}
      </p>
    );
  const { done = 0, total = 0 } = running ?? {};
  return (
    <p role="status">
      {texts.applying}{' '}
      <progress aria-label={texts.applying} max={Math.max(1, total)} value={total > 0 ? done : undefined} />
    </p>
  );
}

const LONGEST_SHOWN = 200;

function shown(value: unknown): string {
  if (value === null || value === undefined) return '–';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)} …` : text;
}
