/** Groups of users. */
import type { GroupShape } from '../../api/shapes/groups.js';
import { segment, type Call } from './call.js';

type GroupFields = Pick<GroupShape, 'name' | 'members' | 'teachers'>;

const all = 'v2/groups';

export const listGroups = (): Call<GroupShape[]> => ({ method: 'GET', path: all });

export const createGroup = (fields: GroupFields): Call<GroupShape> => ({
  method: 'POST',
  path: all,
  body: fields,
});

export const updateGroup = (name: string, fields: GroupFields): Call<GroupShape> => ({
  method: 'PUT',
  path: `${all}/${segment(name)}`,
  body: fields,
});

export const deleteGroup = (name: string): Call<void> => ({
  method: 'DELETE',
  path: `${all}/${segment(name)}`,
});
