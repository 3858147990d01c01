/** The answer to a request whose work goes on as a job: 202 with its id. */
import { json, type WholeAnswer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import type { BegunJob, Jobs } from '../snapshots/jobs.js';

export function begunJobAnswer(exchange: Exchange, jobId: string): WholeAnswer {
  exchange.jobId = jobId;
  return json(202, { job_id: jobId });
}

/** The same; the result of the job, in the JSON of `shown`, is kept for those who ask for the job. */
export function begunWithResult<Result>(
  exchange: Exchange,
  jobs: Jobs,
  job: BegunJob<Result>,
  shown: (result: Result) => string,
): WholeAnswer {
  jobs.keep(job, shown);
  return begunJobAnswer(exchange, job.id);
}
