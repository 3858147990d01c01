/** How busy this host is, as monitors of clients show it. */
import { cpus, loadavg } from 'node:os';
import { z } from 'zod';
import type { TaskRunner } from '../base/threads/task-pool.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { LOCAL_COMPUTE } from '../lab/gns3-file/topology-schema.js';
import type { HostTasks } from '../run/host-tasks.js';
import { nothing } from './schemas.js';

const bytes = z.int().min(0);
const percent = z.int().min(0).max(100);
const statistics = z.strictObject({
  cpu_usage_percent: percent,
  disk_usage_percent: percent,
  /** Over 1, 5 and 15 minutes, of all processors: more than 100 when programs wait for one. */
  load_average_percent: z.array(z.int().min(0)).length(3),
  memory_free: bytes,
  memory_total: bytes,
  memory_usage_percent: percent,
  memory_used: bytes,
  swap_free: bytes,
  swap_total: bytes,
  swap_usage_percent: percent,
  swap_used: bytes,
});

export function hostStatisticsRoutes(controller: Controller, files: TaskRunner<HostTasks>): Route[] {
  const measure = async (): Promise<z.output<typeof statistics>> => {
    const room = await files.run('measureHost', { folder: controller.projects.folder });
    const memory_used = room.memory_total - room.memory_free;
    const swap_used = room.swap_total - room.swap_free;
    return {
      ...room,
      memory_used,
      swap_used,
      memory_usage_percent: share(memory_used, room.memory_total),
      swap_usage_percent: share(swap_used, room.swap_total),
      cpu_usage_percent: Math.round(controller.load().cpu_usage_percent),
      load_average_percent: loadavg().map((load) => Math.round((load / cpus().length) * 100)),
    };
  };
  return [
    route({
      method: 'GET',
      path: '/v2/statistics',
      tag: 'Server',
      access: { right: 'computes:read' },
      summary: 'Show how busy each compute is',
      params: nothing,
      answers: {
        200: z.array(z.strictObject({ compute_id: z.string(), compute_name: z.string(), statistics })),
      },
      handle: async () => {
        const name = controller.computes.nameOf(LOCAL_COMPUTE);
        return json(200, [{ compute_id: LOCAL_COMPUTE, compute_name: name, statistics: await measure() }]);
      },
    }),
    route({
      method: 'GET',
      path: '/v2/compute/statistics',
      tag: 'Compute',
      access: { right: 'compute' },
      summary: 'Show how busy this compute is',
      params: nothing,
      answers: { 200: statistics },
      handle: async () => json(200, await measure()),
    }),
  ];
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 100);
}
