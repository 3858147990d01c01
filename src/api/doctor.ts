/** The examination of the host, as `wirefarm doctor` makes it. */
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Doctor } from '../operations/doctor/doctor.js';
import { nothing } from './schemas.js';
import { examination } from './shapes/doctor.js';

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
