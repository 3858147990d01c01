/** The subjects of administration, each with a page, and who is offered it. */
import type { Right } from '../../base/rights.js';
import { account, may } from './account.js';
import { TEXTS } from '../texts.js';

const SUBJECTS = ['users', 'groups', 'tokens', 'quotas', 'audit', 'backups', 'doctor', 'history'] as const;

export type AdminSubject = (typeof SUBJECTS)[number];

/** Everybody whom the store has is offered a subject without a right, with what is his own. */
const RIGHTS: Readonly<Record<AdminSubject, { readonly right: Right; readonly isForAll?: true }>> = {
  users: { right: 'users:read' },
  groups: { right: 'users:read', isForAll: true },
  tokens: { right: 'users:read', isForAll: true },
  quotas: { right: 'metrics', isForAll: true },
  audit: { right: 'users:read' },
  backups: { right: 'admin' },
  doctor: { right: 'admin' },
  history: { right: 'admin' },
};

export const titleOf = (subject: AdminSubject): string => TEXTS.pages[subject];

/** Whether the account is one of the store: the admin of the settings and a server without users have nothing of their own. */
export function hasOwn(): boolean {
  const { value } = account;
  return typeof value === 'object' && value.user_id !== null;
}

export function offeredSubjects(): AdminSubject[] {
  return SUBJECTS.filter((subject) => {
    const { right, isForAll } = RIGHTS[subject];
    return may(right) || (isForAll === true && hasOwn());
  });
}

/** Whether the account administers more than what is its own. */
export function isAdministrator(): boolean {
  return may('users:read') || may('admin');
}
