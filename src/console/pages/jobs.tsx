/** Jobs of all labs: those that run, with their progress, and those that have ended. */
import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import type { EndedJobShape, JobShape } from '../../api/shapes/jobs.js';
import { send } from '../api/call.js';
import { cancelJob } from '../api/jobs.js';
import { Empty } from '../parts/notice.js';
import { Moment } from '../parts/quantity.js';
import { mayOn, useGrant } from '../state/grants.js';
import { reconnections } from '../state/connection.js';
import { endedJobs, readJobs, runningJobs } from '../state/jobs.js';
import { failed } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

const { jobs: texts } = TEXTS;

export function JobsPage(): JSX.Element {
  useSignalEffect(() => {
    if (reconnections.value >= 0) void readJobs();
  });
  return (
    <div class="page">
      <h1>{texts.title}</h1>
      <section aria-label={texts.running}>
        <h2>{texts.running}</h2>
        {runningJobs.value.length === 0 && (
          <Empty>
            <p>{texts.none}</p>
          </Empty>
        )}
        <ul class="jobs">
          {runningJobs.value.map((job) => (
            <Running key={job.job_id} job={job} />
          ))}
        </ul>
      </section>
      <section aria-label={texts.ended}>
        <h2>{texts.ended}</h2>
        <p class="hint">{texts.endedHint}</p>
        <ul class="jobs">
          {endedJobs.value.map((job) => (
            <Ended key={job.job_id} job={job} />
          ))}
        </ul>
      </section>
    </div>
  );
}

function Running({ job }: { readonly job: JobShape }): JSX.Element {
  const name = `${texts.kindOf(job.kind)}: ${job.subject}`;
  useGrant(job.project_id);
  const cancel = async (): Promise<void> => {
    try {
      await send(cancelJob(job));
    } catch (error) {
      failed(error);
    }
  };
  return (
    <li class="card">
      <strong>{name}</strong>
      <span class="hint">
        {texts.states[job.state]}, <Moment time={job.started_at} />
      </span>
      <progress aria-label={name} max={Math.max(1, job.total)} value={job.total > 0 ? job.done : undefined} />
      {mayOn(job.project_id, 'projects:write') && (
        <button type="button" onClick={() => void cancel()}>
          {texts.cancel}
        </button>
      )}
    </li>
  );
}

function Ended({ job }: { readonly job: EndedJobShape }): JSX.Element {
  const isDone = job.outcome === 'done';
  return (
    <li class="card">
      <strong>
        {texts.kindOf(job.kind)}: {job.subject}
      </strong>
      <span class={isDone ? 'state good' : 'state bad'}>
        <span aria-hidden="true">{isDone ? '✓' : '✖'}</span> {texts.outcomes[job.outcome]}
      </span>
      <span class="hint">
        <Moment time={job.ended_at} />
      </span>
      {job.reason !== undefined && <p>{job.reason}</p>}
    </li>
  );
}
