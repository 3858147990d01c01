/** The end times of labs. */
import type { EndTimeShape } from '../../api/shapes/end-times.js';
import { segment, type Call } from './call.js';

const of = (lab: string): string => `v2/projects/${segment(lab)}/end-time`;

export const showEndTime = (lab: string): Call<EndTimeShape> => ({ method: 'GET', path: of(lab) });

/** Leaves alone whatever the body does not name. */
export const changeEndTime = (
  lab: string,
  body: {
    readonly ends_at?: string | null;
    readonly idle_after?: number | null;
    readonly snapshot?: boolean;
  },
): Call<EndTimeShape> => ({ method: 'PUT', path: of(lab), body });
