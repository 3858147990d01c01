/** The menu of the account, and of the looks of the console. */
import type { JSX } from 'preact';
import { INTERFACE_PAGE, WEB_UI } from '../api/documents.js';
import { hasOwn, offeredSubjects, titleOf } from '../state/subjects.js';
import { account, leave } from '../state/account.js';
import { glance } from '../state/overview.js';
import { addressOf } from '../state/place.js';
import { hasLetterKeys, scheme, type ColourScheme } from '../state/preferences.js';
import { TEXTS } from '../texts.js';
import { Icon } from './icon.js';

const SCHEMES: readonly ColourScheme[] = ['system', 'light', 'dark'];

export function AccountMenu(): JSX.Element {
  const { value } = account;
  const name = typeof value === 'object' ? value.name : '';
  const hasSession = typeof value === 'object' && value.expires_at !== null;
  return (
    <>
      <button
        type="button"
        class="bare"
        popovertarget="account"
        aria-label={`${TEXTS.account.menu}: ${name}`}
      >
        <Icon name="account" />
        <span class="wide">{name}</span>
      </button>
      <div id="account" popover="auto" class="menu" role="group" aria-label={TEXTS.account.menu}>
        <p>
          <strong>{name}</strong>
        </p>
        {!hasSession && <p class="hint">{TEXTS.account.everybody}</p>}
        <label>
          {TEXTS.account.scheme}
          <select
            value={scheme}
            onChange={({ currentTarget: { value: wanted } }) => {
              scheme.value = SCHEMES.find((known) => known === wanted) ?? 'system';
            }}
          >
            {SCHEMES.map((known) => (
              <option key={known} value={known}>
                {TEXTS.account.schemes[known]}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={hasLetterKeys}
            onChange={({ currentTarget: { checked } }) => {
              hasLetterKeys.value = checked;
            }}
          />
          {TEXTS.account.letterKeys}
        </label>
        {hasOwn() &&
          offeredSubjects().map((subject) => (
            <a
              key={subject}
              href={addressOf('admin', subject)}
              onClick={({ currentTarget }) => currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()}
            >
              {titleOf(subject)}
            </a>
          ))}
        <a href={INTERFACE_PAGE} target="_blank">
          {TEXTS.account.api}
        </a>
        {glance.value?.figures.web_ui === true && <a href={WEB_UI}>{TEXTS.account.webUi}</a>}
        {hasSession && (
          <button type="button" onClick={() => void leave()}>
            {TEXTS.account.signOut}
          </button>
        )}
      </div>
    </>
  );
}
