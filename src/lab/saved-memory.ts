/** The record of a saved memory, as files and the store have it. Pure. */
import { z } from 'zod';
import type { SavedMemory } from './lab-run.js';

export const savedMemory = z.object({
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  size: z.int().nonnegative(),
  machine: z.string().regex(/^[a-zA-Z0-9._-]{1,64}$/),
  parts: z.array(z.string()),
}) satisfies z.ZodType<SavedMemory>;
