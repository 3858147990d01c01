/** Administration: the subjects that this account is offered. */
import type { JSX } from 'preact';
import { addressOf } from '../../state/place.js';
import { TEXTS } from '../../texts.js';
import { offeredSubjects, titleOf } from '../../state/subjects.js';
import { ADMIN_TEXTS } from './texts.js';

export function AdminPage(): JSX.Element {
  return (
    <div class="page">
      <h1>{TEXTS.pages.admin}</h1>
      <ul class="jobs cards">
        {offeredSubjects().map((subject) => (
          <li key={subject} class="card">
            <a href={addressOf('admin', subject)}>
              <strong>{titleOf(subject)}</strong>
            </a>
            <p class="hint">{ADMIN_TEXTS.about[subject]}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}
