/** The table of pages: the routes, the menu, the keys that lead there, and the list of keys come from it. */
import type { ReadonlySignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Right } from '../../base/rights.js';
import type { IconName } from '../parts/icon.js';
import { MAP_KEYS } from '../map/keys.js';
import { CONSOLE_KEYS } from '../terminal/keys.js';
import { runningJobs } from '../state/jobs.js';
import { TEXTS } from '../texts.js';
import { isAdministrator, titleOf, type AdminSubject } from '../state/subjects.js';
import type { PageProps } from './page-props.js';

export interface ConsolePage {
  /** Parts of the address; one that begins with a colon is any text, by this name. */
  readonly pattern: readonly string[];
  readonly title: string;
  /** Without it the page is in no menu. `g` and the letter lead to the page. */
  readonly menu?: {
    readonly icon: IconName;
    readonly letter: string;
    /** Things that are counted beside the title. */
    readonly count?: ReadonlySignal<readonly unknown[]>;
  };
  /** Only who has the right is offered the page. */
  readonly right?: Right;
  /** Says it where one right is not enough to say it. */
  readonly isOffered?: () => boolean;
  /** The keys of the page itself, for the list of keys. */
  readonly keys?: readonly { readonly keys: string; readonly text: string }[];
  /** Loads the script of the page. */
  readonly load: () => Promise<ComponentType<PageProps>>;
}

const ADMIN_PAGES: Readonly<Record<AdminSubject, ConsolePage['load']>> = {
  users: async () => (await import('./admin/users.js')).UsersPage,
  groups: async () => (await import('./admin/groups.js')).GroupsPage,
  tokens: async () => (await import('./admin/tokens.js')).TokensPage,
  quotas: async () => (await import('./admin/quotas.js')).QuotasPage,
  audit: async () => (await import('./admin/audit.js')).AuditPage,
  backups: async () => (await import('./admin/backups.js')).BackupsPage,
  doctor: async () => (await import('./admin/doctor.js')).DoctorPage,
  history: async () => (await import('./admin/history.js')).HistoryPage,
};

export const PAGES: readonly ConsolePage[] = [
  {
    pattern: ['dashboard'],
    title: TEXTS.pages.dashboard,
    menu: { icon: 'dashboard', letter: 'd' },
    right: 'computes:read',
    load: async () => (await import('./dashboard.js')).DashboardPage,
  },
  {
    pattern: ['labs'],
    title: TEXTS.pages.labs,
    menu: { icon: 'labs', letter: 'l' },
    right: 'projects:read',
    load: async () => (await import('./labs.js')).LabsPage,
  },
  {
    pattern: ['labs', ':id'],
    title: TEXTS.pages.map,
    right: 'projects:read',
    keys: MAP_KEYS,
    load: async () => (await import('./map.js')).MapPage,
  },
  {
    pattern: ['labs', ':id', 'snapshots'],
    title: TEXTS.pages.snapshots,
    load: async () => (await import('./snapshots.js')).SnapshotsPage,
  },
  {
    pattern: ['labs', ':id', 'plan'],
    title: TEXTS.pages.plan,
    load: async () => (await import('./plan.js')).PlanPage,
  },
  {
    pattern: ['images'],
    title: TEXTS.pages.images,
    menu: { icon: 'images', letter: 'i' },
    right: 'images:read',
    load: async () => (await import('./images.js')).ImagesPage,
  },
  {
    pattern: ['captures'],
    title: TEXTS.pages.captures,
    menu: { icon: 'captures', letter: 'c' },
    right: 'capture',
    load: async () => (await import('./captures.js')).CapturesPage,
  },
  {
    pattern: ['jobs'],
    title: TEXTS.pages.jobs,
    menu: { icon: 'jobs', letter: 'j', count: runningJobs },
    right: 'projects:read',
    load: async () => (await import('./jobs.js')).JobsPage,
  },
  {
    pattern: ['labs', ':id', 'consoles'],
    title: TEXTS.pages.consoles,
    right: 'console',
    keys: CONSOLE_KEYS,
    load: async () => (await import('./consoles.js')).ConsolesPage,
  },
  {
    pattern: ['labs', ':id', 'packets'],
    title: TEXTS.pages.packets,
    right: 'capture',
    load: async () => (await import('./packets.js')).PacketsPage,
  },
  {
    pattern: ['groups', ':name', 'labs'],
    title: TEXTS.pages.dealt,
    right: 'projects:read',
    load: async () => (await import('./dealt-labs.js')).DealtLabsPage,
  },
  {
    pattern: ['admin'],
    title: TEXTS.pages.admin,
    menu: { icon: 'admin', letter: 'a' },
    isOffered: isAdministrator,
    load: async () => (await import('./admin/admin.js')).AdminPage,
  },
  ...Object.entries(ADMIN_PAGES).map(([subject, load]) => ({
    pattern: ['admin', subject],
    title: titleOf(subject as AdminSubject),
    load,
  })),
];

/** The page of an address without parts. */
export const FIRST = ['dashboard'];

export function pageAt(
  parts: readonly string[],
): Pick<PageProps, 'params'> & { page: ConsolePage | undefined } {
  const wanted = parts.length === 0 ? FIRST : parts;
  const page = PAGES.find(
    ({ pattern }) =>
      pattern.length === wanted.length &&
      pattern.every((part, index) => part.startsWith(':') || part === wanted[index]),
  );
  const named = (page?.pattern ?? []).flatMap((part, index) =>
    part.startsWith(':') ? [[part.slice(1), wanted[index] ?? '']] : [],
  );
  return { page, params: Object.fromEntries(named) as Record<string, string> };
}
