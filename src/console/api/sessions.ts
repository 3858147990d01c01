/** Sessions: signing in and out. */
import type { SessionShape } from '../../api/shapes/accounts.js';
import type { Call } from './call.js';

const path = 'v2/session';

export const showSession = (): Call<SessionShape> => ({ method: 'GET', path });

export const signIn = (user: string, password: string): Call<SessionShape> => ({
  method: 'POST',
  path,
  body: { user, password },
});

export const signOut = (): Call<void> => ({ method: 'DELETE', path });
