/** The end times of labs: when each ends, and another end. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { route, type Route } from '../http/route.js';
import type { Role } from '../lab/access/roles.js';
import type { Users } from '../lab/access/users.js';
import type { Controller } from '../lab/controller.js';
import type { Project } from '../lab/projects/project.js';
import type { ProjectUses } from '../lab/projects/project-uses.js';
import type { EndTimes } from '../operations/end-times/end-times.js';
import type { EndWatch } from '../operations/end-times/end-watch.js';
import { names, nothing } from './schemas.js';
import { endTime, type EndTimeShape } from './shapes/end-times.js';

export interface EndTimeServices {
  readonly uses: ProjectUses;
  readonly times: EndTimes;
  readonly watch: Pick<EndWatch, 'isWarned'>;
  /** Forgets a project that is gone. */
  forget(projectId: string): void;
}

const tag = 'Projects';
const LEAST_IDLE = 60;
const LONGEST = 10 * 366 * 86_400;

const wanted = z
  .strictObject({
    ends_at: z.iso.datetime().nullable().optional(),
    ends_in: z.number().positive().max(LONGEST).optional(),
    idle_after: z.int().min(LEAST_IDLE).max(LONGEST).nullable().optional(),
    snapshot: z.boolean().optional(),
  })
  .refine((body) => body.ends_at === undefined || body.ends_in === undefined, {
    message: 'give ends_at or ends_in, not both',
  });

export function endTimeRoutes({ projects }: Controller, users: Users, ends: EndTimeServices): Route[] {
  const path = '/v2/projects/{project_id}/end-time';
  const params = names('project_id');
  const roleOf = ({ userId }: Caller): Role | undefined =>
    userId === undefined ? undefined : users.get(userId)?.role;
  const view = ({ id, name, isOpen }: Project, caller: Caller): EndTimeShape => {
    const { endsAt, idleAfter = null, snapshot } = ends.times.of(id);
    const { lasts = null, idle = null } = ends.times.limitsOf(roleOf(caller));
    return {
      ...{ project_id: id, name, snapshot },
      ends_at: isoOf(endsAt),
      idle_after: idleAfter,
      is_warned: ends.watch.isWarned(id),
      last_used_at: isoOf(ends.uses.last(id)),
      idle_seconds: isOpen ? Math.floor(ends.uses.idleMs(id) / 1000) : null,
      longest: { ends_in: lasts, idle_after: idle },
    };
  };
  return [
    route({
      method: 'GET',
      path: '/v2/end-times',
      tag,
      access: { right: 'projects:read' },
      summary: 'List when the open projects end that one may see',
      params: nothing,
      answers: { 200: z.array(endTime) },
      handle: ({ exchange: { caller } }) => {
        const open = [...projects.all.values()].filter(
          ({ id, isOpen }) => isOpen && caller.grantOn(id) !== undefined,
        );
        return json(
          200,
          open.map((project) => view(project, caller)),
        );
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show when a project ends, and when it was used last',
      params,
      answers: { 200: endTime },
      handle: ({ params: { project_id: id }, exchange: { caller } }) =>
        json(200, view(projects.find(id), caller)),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Give a project another end: its nodes are saved and stopped then, and it is closed',
      params,
      body: wanted,
      answers: { 200: endTime },
      handle: async ({ params: { project_id: id }, body, exchange: { caller } }) => {
        const project = projects.find(id);
        const { ends_at: at, ends_in: seconds, idle_after: idleAfter, snapshot } = body;
        const endsAt = typeof at === 'string' ? Date.parse(at) : at;
        await ends.times.set(id, { endsAt, seconds, idleAfter, snapshot }, roleOf(caller));
        return json(200, view(project, caller));
      },
    }),
  ];
}

export function isoOf(milliseconds: number | null | undefined): string | null {
  return milliseconds == null ? null : new Date(milliseconds).toISOString();
}
