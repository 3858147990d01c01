/** Grants on projects: with whom a project is shared, and how far. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { GRANTS } from '../base/rights.js';
import { empty, json } from '../http/answer.js';
import { checkSeen } from '../http/route-access.js';
import { route, type Route } from '../http/route.js';
import type { User } from '../lab/access/access-records.js';
import type { Grants } from '../lab/access/grants.js';
import type { Users } from '../lab/access/users.js';
import type { Controller } from '../lab/controller.js';
import { names } from './schemas.js';
import { ownGrant, userGrant } from './shapes/groups.js';

const tag = 'Users';
const grant = z.enum(GRANTS);

export function grantRoutes({ projects }: Controller, grants: Grants, users: Users): Route[] {
  const all = '/v2/projects/{project_id}/grants';
  const one = names('project_id', 'user_name');
  const named = (name: string): User => {
    const user = users.named(name);
    if (user === undefined) throw refusals.userUnknown(name);
    return user;
  };
  return [
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}/grant',
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show how far one may use a project oneself',
      params: names('project_id'),
      answers: { 200: ownGrant },
      handle: ({ params, exchange: { caller } }) =>
        json(200, { grant: checkSeen(caller, projects.find(params.project_id).id) }),
    }),
    route({
      method: 'GET',
      path: all,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the users who may use a project, and how far each may',
      params: names('project_id'),
      answers: { 200: z.array(userGrant) },
      handle: ({ params }) => {
        const { id } = projects.find(params.project_id);
        const known = grants.list(id).flatMap(([userId, given]) => {
          const user = users.get(userId);
          return user === undefined ? [] : [{ grant: given, name: user.name, user_id: userId }];
        });
        return json(200, known);
      },
    }),
    route({
      method: 'PUT',
      path: `${all}/{user_name}`,
      tag,
      access: { right: 'projects:write', project: 'project_id', grant: 'owner' },
      summary: 'Share a project with a user, so far and no further',
      params: one,
      body: z.strictObject({ grant }),
      answers: { 200: userGrant },
      handle: async ({ params, body }) => {
        const { id } = projects.find(params.project_id);
        const user = named(params.user_name);
        const store = (): Promise<void> => grants.set(id, user.user_id, body.grant);
        await (body.grant === 'owner' ? projects.share(id, user.user_id, store) : store());
        return json(200, { grant: body.grant, name: user.name, user_id: user.user_id });
      },
    }),
    route({
      method: 'DELETE',
      path: `${all}/{user_name}`,
      tag,
      access: { right: 'projects:write', project: 'project_id', grant: 'owner' },
      summary: 'Share a project with a user no longer',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await grants.remove(projects.find(params.project_id).id, named(params.user_name).user_id);
        return empty(204);
      },
    }),
  ];
}
