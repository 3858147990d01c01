/** Quotas: what projects, users and the server use, and may use. */
import type { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Users } from '../lab/access/users.js';
import type { Controller } from '../lab/controller.js';
import type { Quotas } from '../lab/quotas/quotas.js';
import { limits } from '../lab/quotas/resources.js';
import { names, nothing } from './schemas.js';
import { holderQuota, ownQuota } from './shapes/quotas.js';

const tag = 'Users';
export function quotaRoutes({ projects }: Controller, quotas: Quotas, users: Pick<Users, 'find'>): Route[] {
  const path = '/v2/projects/{project_id}/quota';
  const one = names('project_id');
  const shown = (id: string): z.output<typeof holderQuota> => ({
    limits: { ...quotas.limitsOf(id) },
    usage: { ...quotas.usageOfProject(id) },
  });
  return [
    route({
      method: 'GET',
      path: '/v2/quota',
      tag,
      access: 'signed in',
      summary:
        "Show what one's own projects use and may use together; with the right metrics, also the server",
      params: nothing,
      answers: { 200: ownQuota },
      handle: ({ exchange: { caller } }) =>
        json(200, {
          user: caller.userId === undefined ? null : { ...quotas.usageOfUser(caller.userId) },
          server: caller.has('metrics') ? { ...quotas.usageOfServer() } : null,
        }),
    }),
    route({
      method: 'GET',
      path: '/v2/users/{user_id}/quota',
      tag,
      access: { right: 'users:read' },
      summary: 'Show what the projects of a user use and may use together',
      params: names('user_id'),
      answers: { 200: holderQuota },
      handle: ({ params }) => {
        const { user_id: id, quota: given = {} } = users.find(params.user_id);
        return json(200, { limits: { ...given }, usage: { ...quotas.usageOfUser(id) } });
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show what a project uses and may use',
      params: one,
      answers: { 200: holderQuota },
      handle: ({ params }) => json(200, shown(projects.find(params.project_id).id)),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'admin', project: 'project_id' },
      summary: 'Give a project limits of its own, in place of those of the settings',
      params: one,
      body: limits,
      answers: { 200: holderQuota },
      handle: async ({ params, body }) => {
        const { id } = projects.find(params.project_id);
        await quotas.setLimits(id, body);
        return json(200, shown(id));
      },
    }),
  ];
}
