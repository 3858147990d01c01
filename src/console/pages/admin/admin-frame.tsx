/** The frame of the pages of administration: their titles, with links from one to the other. */
import type { ComponentChildren, JSX } from 'preact';
import { addressOf } from '../../state/place.js';
import { TEXTS } from '../../texts.js';
import { offeredSubjects, titleOf, type AdminSubject } from '../../state/subjects.js';

interface AdminFrameProps {
  readonly subject: AdminSubject;
  readonly children: ComponentChildren;
}

export function AdminFrame({ subject, children }: AdminFrameProps): JSX.Element {
  return (
    <div class="page">
      <nav class="subjects" aria-label={TEXTS.pages.admin}>
        <ul>
          {offeredSubjects().map((known) => (
            <li key={known}>
              <a href={addressOf('admin', known)} aria-current={known === subject ? 'page' : undefined}>
                {titleOf(known)}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <h1>{titleOf(subject)}</h1>
      {children}
    </div>
  );
}
