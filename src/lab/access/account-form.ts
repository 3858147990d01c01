/** The form of the names and passwords of users, wherever they come from. */
import { z } from 'zod';
import { ROLES } from './roles.js';

/** The name that any token may come with. */
export const TOKEN_NAME = 'token';

/** Without a colon, at which HTTP Basic cuts, and without what cannot be seen. */
export const groupName = z
  .string()
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N}._@+ -]{0,63}$/u,
    'must be letters, digits and . _ @ + - or spaces, 64 at most',
  );
export const userName = groupName.refine(
  (given) => given.toLowerCase() !== TOKEN_NAME,
  'is the name that tokens come with',
);
export const userPassword = z.string().min(8, 'must have at least 8 characters').max(1024);
export const userRole = z.enum(ROLES);
