/** Groups of users, and the grants that they have on projects. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { route, type Route } from '../http/route.js';
import { groupName, userName } from '../lab/access/account-form.js';
import type { Group } from '../lab/access/access-records.js';
import type { Grants } from '../lab/access/grants.js';
import type { Groups } from '../lab/access/groups.js';
import type { Users } from '../lab/access/users.js';
import type { Controller } from '../lab/controller.js';
import { names, nothing } from './schemas.js';
import { group, groupGrant } from './shapes/groups.js';

const tag = 'Users';
const MOST_PEOPLE = 1000;

const people = z.array(userName).max(MOST_PEOPLE);
const newGroup = z.strictObject({
  name: groupName,
  members: people.default([]),
  teachers: people.default([]),
});
const changedGroup = z.strictObject({
  name: groupName.optional(),
  members: people.optional(),
  teachers: people.optional(),
});
/** A group owns nothing: quotas are those of users. */
const grantOfGroup = z.enum(['view', 'use', 'edit']);

/** The group of this name. Refuses (404) one that the caller is not to see. */
export function seenGroup(groups: Groups, caller: Caller, name: string): Group {
  const found = groups.find(name);
  if (!isSeen(groups, caller, found)) throw refusals.groupUnknown(name);
  return found;
}

function isSeen(groups: Groups, caller: Caller, { group_id: id }: Group): boolean {
  return caller.has('users:read') || (caller.userId !== undefined && groups.has(id, caller.userId));
}

export function groupRoutes(
  { projects }: Controller,
  { users, groups, grants }: { readonly users: Users; readonly groups: Groups; readonly grants: Grants },
): Route[] {
  const one = names('group_name');
  const path = '/v2/groups/{group_name}';
  const namesOf = (ids: readonly string[]): string[] => groups.usersOf(ids).map(({ name }) => name);
  const shown = ({ members, teachers, ...facts }: Group): z.output<typeof group> => ({
    ...facts,
    members: namesOf(members),
    teachers: namesOf(teachers),
  });
  const idsOf = (given: readonly string[]): string[] => {
    const ids = given.map((name) => {
      const user = users.named(name);
      if (user === undefined) throw refusals.userUnknown(name);
      return user.user_id;
    });
    return [...new Set(ids)];
  };
  return [
    route({
      method: 'GET',
      path: '/v2/groups',
      isFollowed: true,
      tag,
      access: 'signed in',
      summary: "List one's own groups; all of them with the right users:read",
      params: nothing,
      answers: { 200: z.array(group) },
      handle: ({ exchange: { caller } }) => {
        const seen = groups.list().filter((found) => isSeen(groups, caller, found));
        return json(200, seen.map(shown));
      },
    }),
    route({
      method: 'POST',
      path: '/v2/groups',
      tag,
      access: { right: 'users:write' },
      summary: 'Create a group of users',
      params: nothing,
      body: newGroup,
      answers: { 201: group },
      handle: async ({ body: { name, members, teachers } }) => {
        const fields = { name, members: idsOf(members), teachers: idsOf(teachers) };
        return json(201, shown(await groups.create(fields)));
      },
    }),
    route({
      method: 'GET',
      path,
      isFollowed: true,
      tag,
      access: 'signed in',
      summary: "Show a group of one's own; any with the right users:read",
      params: one,
      answers: { 200: group },
      handle: ({ params, exchange: { caller } }) =>
        json(200, shown(seenGroup(groups, caller, params.group_name))),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'users:write' },
      summary: 'Change the name, the members or the teachers of a group',
      params: one,
      body: changedGroup,
      answers: { 200: group },
      handle: async ({ params, body }) => {
        const { group_id: id } = groups.find(params.group_name);
        const wanted = {
          ...(body.name !== undefined && { name: body.name }),
          ...(body.members && { members: idsOf(body.members) }),
          ...(body.teachers && { teachers: idsOf(body.teachers) }),
        };
        return json(200, shown(await groups.update(id, () => wanted)));
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      access: { right: 'users:write' },
      summary: 'Delete a group; its users stay',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await groups.remove(groups.find(params.group_name).group_id);
        return empty(204);
      },
    }),
    ...groupGrantRoutes(projects, groups, grants),
  ];
}

function groupGrantRoutes(projects: Controller['projects'], groups: Groups, grants: Grants): Route[] {
  const all = '/v2/projects/{project_id}/group-grants';
  const one = names('project_id', 'group_name');
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the groups that may use a project, and how far each may',
      params: names('project_id'),
      answers: { 200: z.array(groupGrant) },
      handle: ({ params }) => {
        const { id } = projects.find(params.project_id);
        const known = grants.listGroups(id).flatMap(([groupId, grant]) => {
          const found = groups.get(groupId);
          return found === undefined ? [] : [{ grant, group_id: groupId, name: found.name }];
        });
        return json(200, known);
      },
    }),
    route({
      method: 'PUT',
      path: `${all}/{group_name}`,
      tag,
      access: { right: 'projects:write', project: 'project_id', grant: 'owner' },
      summary: "Share a project with a group of one's own, so far and no further",
      params: one,
      body: z.strictObject({ grant: grantOfGroup }),
      answers: { 200: groupGrant },
      handle: async ({ params, body: { grant }, exchange: { caller } }) => {
        const { id } = projects.find(params.project_id);
        const found = seenGroup(groups, caller, params.group_name);
        await grants.setForGroup(id, found.group_id, grant);
        return json(200, { grant, group_id: found.group_id, name: found.name });
      },
    }),
    route({
      method: 'DELETE',
      path: `${all}/{group_name}`,
      tag,
      access: { right: 'projects:write', project: 'project_id', grant: 'owner' },
      summary: 'Share a project with a group no longer',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await grants.removeOfGroup(
          projects.find(params.project_id).id,
          groups.find(params.group_name).group_id,
        );
        return empty(204);
      },
    }),
  ];
}
