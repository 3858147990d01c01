/** Draining: the server takes no new work, and what is under way ends in peace. */
import { z } from 'zod';
import type { Intake } from '../base/intake.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Jobs } from '../snapshots/jobs.js';
import { nothing } from './schemas.js';

const PATH = '/v2/admin/drain';
const tag = 'Operations';
const drain = z.strictObject({
  /** Jobs that run or wait. */
  jobs: z.int(),
  on: z.boolean(),
  /** Uploads whose bytes are coming. */
  uploads: z.int(),
});

interface DrainServices {
  readonly intake: Intake;
  readonly jobs: Jobs;
  readonly transfers: Transfers;
}

export function drainRoutes({ intake, jobs, transfers }: DrainServices): Route[] {
  const state = (): z.infer<typeof drain> => ({
    jobs: jobs.size,
    on: !intake.isOpen,
    uploads: transfers.running.size,
  });
  return [
    route({
      method: 'GET',
      path: PATH,
      tag,
      access: { right: 'admin' },
      summary: 'Show whether the server takes new work, and what is under way',
      params: nothing,
      answers: { 200: drain },
      handle: () => json(200, state()),
    }),
    route({
      method: 'POST',
      path: PATH,
      tag,
      access: { right: 'admin' },
      summary: 'Take no new work from now on, or take it again',
      params: nothing,
      body: z.strictObject({ on: z.boolean() }),
      answers: { 200: drain },
      handle: ({ body }) => {
        intake.isOpen = !body.on;
        return json(200, state());
      },
    }),
  ];
}
