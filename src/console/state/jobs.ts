/** Jobs that run, and those that have ended last. */
import { signal } from '@preact/signals';
import type { BegunJobShape, EndedJobShape, JobShape } from '../../api/shapes/jobs.js';
import { send } from '../api/call.js';
import { listEndedJobs, listJobs } from '../api/jobs.js';
import { onServerEvent } from '../api/notifications.js';
import { TEXTS } from '../texts.js';
import { failed } from './toasts.js';

const MOST_ENDED = 200;
const BETWEEN_LOOKS_MS = 300;

export const runningJobs = signal<readonly JobShape[]>([]);
/** The newest first. */
export const endedJobs = signal<readonly EndedJobShape[]>([]);

/** Reads what runs, and follows the events. Returns the function that ends it. */
export function watchJobs(): () => void {
  // Whatever begins later is told by events.
  void readJobs();
  return onServerEvent(({ action, event }) => {
    if (action === 'job.started' || action === 'job.progress') put(event as JobShape);
    if (action === 'job.ended') end(event as EndedJobShape);
  });
}

export async function readJobs(): Promise<void> {
  try {
    const [running, ended] = await Promise.all([send(listJobs()), send(listEndedJobs())]);
    runningJobs.value = running;
    const known = new Set(ended.map(({ job_id: id }) => id));
    // An event may have come while the answer was on its way.
    const newer = endedJobs.value.filter(({ job_id: id }) => !known.has(id));
    endedJobs.value = [...newer, ...ended].slice(0, MOST_ENDED);
  } catch (error) {
    failed(error);
  }
}

/** Waits until a job has ended, and returns whether it is done; the event of a failed one tells the user. */
export async function ended({ job_id: wanted }: BegunJobShape): Promise<boolean> {
  const isIt = ({ job_id: id }: JobShape): boolean => id === wanted;
  for (;;) {
    const running = await send(listJobs());
    const job = (await send(listEndedJobs())).find(isIt);
    if (job !== undefined) return job.outcome === 'done';
    if (!running.some(isIt)) throw new Error(TEXTS.jobs.unknown);
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
  }
}

function put(job: JobShape): void {
  const others = runningJobs.value.filter(({ job_id: id }) => id !== job.job_id);
  runningJobs.value = [...others, job].sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
}

function end(job: EndedJobShape): void {
  runningJobs.value = runningJobs.value.filter(({ job_id: id }) => id !== job.job_id);
  const others = endedJobs.value.filter(({ job_id: id }) => id !== job.job_id);
  endedJobs.value = [job, ...others].slice(0, MOST_ENDED);
  if (job.outcome === 'failed')
    failed(new Error(TEXTS.jobs.failed(TEXTS.jobs.kindOf(job.kind), job.subject, job.reason ?? '')));
}
