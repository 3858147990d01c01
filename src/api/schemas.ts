/** Schemas that several resources share. */
import { z } from 'zod';

/** Path parameters that are names or ids. Any text will do, because an id that does not exist is simply not found. */
export function names<const Name extends string>(
  ...list: readonly Name[]
): z.ZodObject<Record<Name, z.ZodString>> {
  return z.object(Object.fromEntries(list.map((name) => [name, z.string()])) as Record<Name, z.ZodString>);
}

export const nothing = z.object({});

/** The body of every error. The code says which error it is, and does not change; the message is for people. */
export const errorBody = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int(),
  method: z.string().optional(),
  path: z.string().optional(),
  request: z.unknown().optional(),
  exception: z.string().optional(),
  image: z.string().optional(),
  failing: z.array(z.string()).optional(),
  quota: z
    .object({ scope: z.string(), resource: z.string(), used: z.number(), allowed: z.number() })
    .optional(),
  /** The parts of the body that are wrong, where each can be named. */
  faults: z.array(z.object({ path: z.array(z.union([z.string(), z.int()])), reason: z.string() })).optional(),
});
