/** The examination of the host, as `wirefarm doctor` makes it. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Doctor } from '../operations/doctor/doctor.js';
import { nothing } from './schemas.js';

const level = z.enum(['ok', 'note', 'warning', 'failure']);
const examination = z.strictObject({
  /** The level of the worst check. */
  level,
  checks: z.array(
    z.strictObject({
      id: z.string(),
      level,
      found: z.string(),
      means: z.string().optional(),
      repair: z.string().optional(),
    }),
  ),
});

export function doctorRoutes(doctor: Doctor): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/admin/doctor',
      tag: 'Operations',
      access: { right: 'admin' },
      summary: 'Examine the host: what was found, what it means, and the command that repairs it',
      params: nothing,
      answers: { 200: examination },
      handle: async () => json(200, await doctor.examine()),
    }),
  ];
}
