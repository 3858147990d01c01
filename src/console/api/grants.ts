/** Grants on a lab, of users and of groups. */
import type { GroupGrantShape, OwnGrantShape, UserGrantShape } from '../../api/shapes/groups.js';
import { segment, type Call } from './call.js';

export type HolderKind = 'user' | 'group';

const FOLDERS: Readonly<Record<HolderKind, string>> = { user: 'grants', group: 'group-grants' };

const all = (labId: string, kind: HolderKind): string => `v2/projects/${segment(labId)}/${FOLDERS[kind]}`;

/** How far this account may use the lab. */
export const showGrant = (labId: string): Call<OwnGrantShape> => ({
  method: 'GET',
  path: `v2/projects/${segment(labId)}/grant`,
});

export const listUserGrants = (labId: string): Call<UserGrantShape[]> => ({
  method: 'GET',
  path: all(labId, 'user'),
});

export const listGroupGrants = (labId: string): Call<GroupGrantShape[]> => ({
  method: 'GET',
  path: all(labId, 'group'),
});

export const putGrant = (labId: string, kind: HolderKind, name: string, grant: string): Call<unknown> => ({
  method: 'PUT',
  path: `${all(labId, kind)}/${segment(name)}`,
  body: { grant },
});

export const deleteGrant = (labId: string, kind: HolderKind, name: string): Call<void> => ({
  method: 'DELETE',
  path: `${all(labId, kind)}/${segment(name)}`,
});
