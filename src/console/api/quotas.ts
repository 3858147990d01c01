/** Quotas of users, labs and the server. */
import type { HolderQuotaShape, OwnQuotaShape } from '../../api/shapes/quotas.js';
import { segment, type Call } from './call.js';

type Limits = HolderQuotaShape['limits'];

const ofLab = (id: string): string => `v2/projects/${segment(id)}/quota`;

export const ownQuota = (): Call<OwnQuotaShape> => ({ method: 'GET', path: 'v2/quota' });

export const userQuota = (id: string): Call<HolderQuotaShape> => ({
  method: 'GET',
  path: `v2/users/${segment(id)}/quota`,
});

export const labQuota = (id: string): Call<HolderQuotaShape> => ({ method: 'GET', path: ofLab(id) });

export const limitUser = (id: string, quota: Limits): Call<unknown> => ({
  method: 'PUT',
  path: `v2/users/${segment(id)}`,
  body: { quota },
});

export const limitLab = (id: string, limits: Limits): Call<unknown> => ({
  method: 'PUT',
  path: ofLab(id),
  body: limits,
});
