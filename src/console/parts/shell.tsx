/** The frame around every page: menu, connection, palette, keys, messages. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { offeredSubjects, titleOf } from '../state/subjects.js';
import { FIRST, PAGES, pageAt, type ConsolePage } from '../pages/table.js';
import { may } from '../state/account.js';
import { useCommands } from '../state/commands.js';
import { connection, watchConnection } from '../state/connection.js';
import { useKeys, type KeyMap } from '../state/keys.js';
import { watchJobs } from '../state/jobs.js';
import { watchOverview } from '../state/overview.js';
import { addressOf, go, place } from '../state/place.js';
import { TEXTS } from '../texts.js';
import { AccountMenu } from './account-menu.js';
import { Help } from './help.js';
import { Icon } from './icon.js';
import { Outlet } from './outlet.js';
import { Palette } from './palette.js';

type Opened = 'palette' | 'help' | undefined;

export function Shell(): JSX.Element {
  const opened = useSignal<Opened>(undefined);
  const main = useRef<HTMLElement>(null);
  useEffect(watchConnection, []);
  useEffect(watchJobs, []);
  useEffect(() => (may('computes:read') ? watchOverview() : undefined), []);
  const offered = PAGES.filter(
    ({ menu, right, isOffered }) =>
      menu !== undefined && (right === undefined || may(right)) && isOffered?.() !== false,
  );
  const { page, params } = pageAt(place.value.parts);
  const address = place.value.parts.join('/');
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${page?.title ?? TEXTS.notFound} – ${TEXTS.product}`;
    // Where somebody has come from a link, reading goes on at the page.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [address]);
  const goTo = ({ pattern }: ConsolePage): void => go(addressOf(...pattern));
  const keys: KeyMap = {
    'Ctrl+k': () => (opened.value = 'palette'),
    '?': () => (opened.value = 'help'),
    '/': () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus(),
    Escape: () => {
      if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
    },
    ...Object.fromEntries(offered.map((known) => [`g ${known.menu?.letter ?? ''}`, () => goTo(known)])),
  };
  useKeys(keys);
  useCommands(() => [
    ...offered.map((known) => ({
      name: TEXTS.palette.goTo(known.title),
      keys: `g ${known.menu?.letter ?? ''}`,
      run: () => goTo(known),
    })),
    ...offeredSubjects().map((subject) => ({
      name: TEXTS.palette.goTo(titleOf(subject)),
      run: () => go(addressOf('admin', subject)),
    })),
    { name: TEXTS.help.open, keys: '?', run: () => (opened.value = 'help') },
  ]);
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {TEXTS.skip}
      </a>
      <header>
        <strong class="product">{TEXTS.product}</strong>
        <button type="button" class="find" onClick={() => (opened.value = 'palette')}>
          <Icon name="search" />
          <span>{TEXTS.find}</span>
          <kbd class="wide">Ctrl K</kbd>
        </button>
        <Connection />
        <AccountMenu />
        <button
          type="button"
          class="bare"
          aria-label={TEXTS.help.open}
          onClick={() => (opened.value = 'help')}
        >
          ?
        </button>
      </header>
      <nav aria-label={TEXTS.menu}>
        <ul>
          {offered.map(({ pattern, title, menu }) => (
            <li key={title}>
              <a
                href={addressOf(...pattern)}
                aria-current={pattern[0] === (place.value.parts[0] ?? FIRST[0]) ? 'page' : undefined}
              >
                {menu !== undefined && <Icon name={menu.icon} />}
                {title}
                {(menu?.count?.value.length ?? 0) > 0 && (
                  <span class="badge">{menu?.count?.value.length}</span>
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main ref={main} id="main" tabIndex={-1}>
        <Outlet key={address} page={page} params={params} query={place.value.query} />
      </main>
      {opened.value === 'palette' && <Palette onClose={() => (opened.value = undefined)} />}
      {opened.value === 'help' && <Help onClose={() => (opened.value = undefined)} />}
    </div>
  );
}

/** In words and by its shape, not by its colour alone. */
function Connection(): JSX.Element {
  const { value } = connection;
  const isLive = value === 'live' || value === 'http';
  return (
    <span
      class={`connection ${isLive ? 'live' : value}`}
      role="status"
      title={value === 'http' ? TEXTS.connectionByHttp : undefined}
    >
      <span aria-hidden="true">{isLive ? '●' : '○'}</span> {TEXTS.connection[value]}
    </span>
  );
}
