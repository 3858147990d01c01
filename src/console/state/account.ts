/** The account that is signed in, and what it may do. */
import { effect, signal } from '@preact/signals';
import type { SessionShape } from '../../api/shapes/accounts.js';
import type { Right } from '../../base/rights.js';
import { RefusedCall, send, signOuts } from '../api/call.js';
import { showSession, signIn, signOut } from '../api/sessions.js';
import { failed } from './toasts.js';

type Account = SessionShape | 'unknown' | 'signed out';

export const account = signal<Account>('unknown');

const RETRY_MS = 2000;

/** Asks the server, until it answers. */
export async function findAccount(): Promise<void> {
  try {
    account.value = await send(showSession());
  } catch (error) {
    if (error instanceof RefusedCall) account.value = 'signed out';
    else setTimeout(() => void findAccount(), RETRY_MS);
  }
}

/** Rejects when the server refuses. */
export async function enter(user: string, password: string): Promise<void> {
  account.value = await send(signIn(user, password));
}

export async function leave(): Promise<void> {
  try {
    await send(signOut());
    account.value = 'signed out';
  } catch (error) {
    failed(error);
  }
}

/** Whether this account has the right; nobody is offered what the server would refuse. */
export function may(right: Right): boolean {
  const { value } = account;
  return typeof value === 'object' && value.rights.includes(right);
}

/** Whether somebody had to sign in: a server without users shares with nobody. */
export function hasUsers(): boolean {
  const { value } = account;
  return typeof value === 'object' && value.expires_at !== null;
}

effect(() => {
  if (signOuts.value > 0) account.value = 'signed out';
});
