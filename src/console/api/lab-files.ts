/** The lab file of a lab, its plan, and its application. */
import type { LabPlanShape, LabTextShape } from '../../api/shapes/lab-files.js';
import { segment, type Call } from './call.js';

const of = (lab: string): string => `v2/projects/${segment(lab)}/lab-file`;

type LabFileValue = Readonly<Record<string, unknown>>;

interface LabFileState {
  readonly state: 'none' | 'applied' | 'under_way' | 'unfinished';
  readonly reason: string | null;
}

export const showLabFile = (lab: string): Call<LabFileState> => ({ method: 'GET', path: of(lab) });

/** The address of the lab as it is, in YAML. */
export const labTextAddress = (lab: string): string => `${of(lab)}/text`;

export const readLabText = (text: string): Call<LabTextShape> => ({
  method: 'POST',
  path: 'v2/lab-files/read',
  body: { text },
});

export const planLabFile = (lab: string, file: LabFileValue, prunes: boolean): Call<LabPlanShape> => ({
  method: 'PUT',
  path: `${of(lab)}?dry_run=yes${prunes ? '&prune=yes' : ''}`,
  body: file,
});

export const applyLabFile = (
  lab: string,
  file: LabFileValue,
  {
    prunes,
    recreates,
    digest,
  }: { readonly prunes: boolean; readonly recreates: boolean; readonly digest: string },
): Call<LabPlanShape & { readonly job_id: string }> => ({
  method: 'PUT',
  path: `${of(lab)}?plan=${segment(digest)}${prunes ? '&prune=yes' : ''}${recreates ? '&allow_recreate=yes' : ''}`,
  body: file,
});
