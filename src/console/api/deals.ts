/** Labs that are dealt to groups. */
import type { DealtCopyShape, DealtLabShape } from '../../api/shapes/deals.js';
import { segment, type Call } from './call.js';

/** The copy of a lab that a member has. */
export interface MemberCopy extends DealtCopyShape {
  readonly lab: DealtLabShape;
}

const one = (labId: string, group: string): string => `v2/projects/${segment(labId)}/deals/${segment(group)}`;

export const listDealtLabs = (group: string): Call<DealtLabShape[]> => ({
  method: 'GET',
  path: `v2/groups/${segment(group)}/deals`,
});

export const listCopies = (labId: string, group: string): Call<DealtCopyShape[]> => ({
  method: 'GET',
  path: one(labId, group),
});

export const dealLab = (labId: string, group: string): Call<unknown> => ({
  method: 'POST',
  path: one(labId, group),
});

export const collectCopies = (labId: string, group: string, name: string): Call<unknown> => ({
  method: 'POST',
  path: `${one(labId, group)}/collect`,
  body: { name },
});

export const resetCopies = (labId: string, group: string, members: readonly string[]): Call<unknown> => ({
  method: 'POST',
  path: `${one(labId, group)}/reset`,
  body: { members },
});
