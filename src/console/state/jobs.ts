/** Jobs that run, and those that have ended since the console was opened. */
import { signal } from '@preact/signals';
import type { JobShape } from '../../api/shapes/jobs.js';
import { send } from '../api/call.js';
import { listJobs } from '../api/jobs.js';
import { onServerEvent } from '../api/notifications.js';
import { TEXTS } from '../texts.js';
import { failed } from './toasts.js';

export interface EndedJob extends JobShape {
  readonly outcome: 'done' | 'failed';
  readonly reason?: string;
}

const MOST_ENDED = 200;

export const runningJobs = signal<readonly JobShape[]>([]);
/** The newest first. */
export const endedJobs = signal<readonly EndedJob[]>([]);

/** Reads what runs, and follows the events. Returns the function that ends it. */
export function watchJobs(): () => void {
  // Whatever begins later is told by events.
  void readJobs();
  return onServerEvent(({ action, event }) => {
    if (action === 'job.started' || action === 'job.progress') put(event as JobShape);
    if (action === 'job.ended') end(event as EndedJob);
  });
}

export async function readJobs(): Promise<void> {
  try {
    runningJobs.value = await send(listJobs());
  } catch (error) {
    failed(error);
  }
}

function put(job: JobShape): void {
  const others = runningJobs.value.filter(({ job_id: id }) => id !== job.job_id);
  runningJobs.value = [...others, job].sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
}

function end(job: EndedJob): void {
  runningJobs.value = runningJobs.value.filter(({ job_id: id }) => id !== job.job_id);
  endedJobs.value = [job, ...endedJobs.value].slice(0, MOST_ENDED);
  if (job.outcome === 'failed')
    failed(new Error(TEXTS.jobs.failed(TEXTS.jobs.kindOf(job.kind), job.subject, job.reason ?? '')));
}
