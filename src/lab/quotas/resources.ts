/** The resources that quotas bound, and limits of them. Memory and disk are bytes; the others are counted. */
import { z } from 'zod';

export const RESOURCES = [
  'nodes',
  'links',
  'running',
  'memory',
  'processors',
  'captures',
  'uploads',
  'jobs',
  'disk',
] as const;

export type Resource = (typeof RESOURCES)[number];

export type Amounts = Readonly<Partial<Record<Resource, number>>>;

/** The most of each resource. Null is no limit; a resource that is absent has the limit of the settings. */
export const limits = z.partialRecord(z.enum(RESOURCES), z.int().min(0).nullable());
export type Limits = Readonly<Partial<Record<Resource, number | null>>>;

/** The limits of the settings: of the server as a whole, of each user, and of each project. */
export interface DefaultLimits {
  readonly server: Amounts;
  readonly user: Amounts;
  readonly project: Amounts;
}

/** How much of each resource is in use, and how much may be; null is no limit. */
export type Usage = Readonly<Record<Resource, { readonly used: number; readonly allowed: number | null }>>;
