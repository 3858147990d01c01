/** Labs that are dealt to groups: a copy for each member, snapshots of all copies, and what became of them. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { route, type Route } from '../http/route.js';
import { userName } from '../lab/access/account-form.js';
import type { Group } from '../lab/access/access-records.js';
import type { Groups } from '../lab/access/groups.js';
import type { Controller } from '../lab/controller.js';
import { includesGrant } from '../base/rights.js';
import { text } from '../lab/gns3-file/topology-schema.js';
import type { Deals } from '../operations/deals.js';
import { hasRunning } from '../snapshots/stopped-nodes.js';
import { begunJobAnswer } from './begun-job.js';
import { isoOf, type EndTimeServices } from './end-times.js';
import { seenGroup } from './groups.js';
import { names } from './schemas.js';
import { dealtCopy, dealtLab } from './shapes/deals.js';
import { begunJob } from './shapes/jobs.js';

const tag = 'Deals';
const MOST_PEOPLE = 1000;
const access = { right: 'projects:write', project: 'project_id' } as const;

export function dealRoutes(
  { projects }: Controller,
  groups: Groups,
  deals: Deals,
  ends: Pick<EndTimeServices, 'times' | 'uses'>,
): Route[] {
  const path = '/v2/projects/{project_id}/deals/{group_name}';
  const params = names('project_id', 'group_name');
  return [
    route({
      method: 'GET',
      path: '/v2/groups/{group_name}/deals',
      tag,
      access: { right: 'projects:read' },
      summary: 'List the labs of which members of a group have copies',
      params: names('group_name'),
      answers: { 200: z.array(dealtLab) },
      handle: ({ params: { group_name: name }, exchange: { caller } }) => {
        const dealt = deals.labsOf(taughtGroup(groups, caller, name)).filter(({ lab }) => {
          const grant = caller.grantOn(lab.id);
          return grant !== undefined && includesGrant(grant, 'edit');
        });
        return json(
          200,
          dealt.map(({ lab, copies }) => ({ project_id: lab.id, name: lab.name, copies })),
        );
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'projects:read', project: 'project_id', grant: 'edit' },
      summary: 'List the members of a group, each with the copy of the lab and its state',
      params,
      answers: { 200: z.array(dealtCopy) },
      handle: ({ params: { project_id: id, group_name: name }, exchange: { caller } }) => {
        const dealt = deals.list(projects.find(id), taughtGroup(groups, caller, name));
        const rows = dealt.map(({ user, project, problem = null }): z.output<typeof dealtCopy> => ({
          member: user.name,
          user_id: user.user_id,
          project_id: project?.id ?? null,
          name: project?.name ?? null,
          state: project === undefined ? 'none' : stateOf(project),
          last_used_at: project === undefined ? null : isoOf(ends.uses.last(project.id)),
          ends_at: project === undefined ? null : isoOf(ends.times.of(project.id).endsAt),
          problem,
        }));
        return json(200, rows);
      },
    }),
    route({
      method: 'POST',
      path,
      tag,
      access,
      summary: 'Give each member of a group a copy of the stopped lab, as a job; who has one is left alone',
      params,
      answers: { 202: begunJob },
      handle: ({ params: { project_id: id, group_name: name }, exchange }) =>
        begunJobAnswer(exchange, deals.deal(projects.find(id), taughtGroup(groups, exchange.caller, name))),
    }),
    route({
      method: 'POST',
      path: `${path}/collect`,
      tag,
      access,
      summary: 'Create a snapshot of this name of each copy, as a job; a copy that has one is left alone',
      params,
      body: z.strictObject({ name: text(1, 100) }),
      answers: { 202: begunJob },
      handle: ({ params: { project_id: id, group_name: name }, body, exchange }) =>
        begunJobAnswer(
          exchange,
          deals.collect(projects.find(id), taughtGroup(groups, exchange.caller, name), body.name),
        ),
    }),
    route({
      method: 'POST',
      path: `${path}/reset`,
      tag,
      access,
      summary: 'Make each copy, or those of some members, what it was when it was dealt, as a job',
      params,
      body: z.strictObject({ members: z.array(userName).max(MOST_PEOPLE).optional() }),
      answers: { 202: begunJob },
      handle: ({ params: { project_id: id, group_name: name }, body, exchange }) =>
        begunJobAnswer(
          exchange,
          deals.reset(projects.find(id), taughtGroup(groups, exchange.caller, name), body.members),
        ),
    }),
  ];
}

/** Refuses (403) a caller who neither teaches the group nor administers users: copies count for the quotas of members. */
function taughtGroup(groups: Groups, caller: Caller, name: string): Group {
  const group = seenGroup(groups, caller, name);
  if (!caller.has('users:write') && !group.teachers.includes(caller.userId ?? ''))
    throw refusals.notTeacher();
  return group;
}

function stateOf(project: Parameters<typeof hasRunning>[0]): 'closed' | 'open' | 'running' {
  if (!project.isOpen) return 'closed';
  return hasRunning(project) ? 'running' : 'open';
}
