/** Stands in the place of a lab that is closed, and opens it. */
import type { JSX } from 'preact';
import { send } from '../api/call.js';
import { openProject } from '../api/projects.js';
import { mayOn, useGrant } from '../state/grants.js';
import { failed } from '../state/toasts.js';
import { TEXTS } from '../texts.js';
import { Empty } from './notice.js';

export function ClosedLab({ id }: { readonly id: string }): JSX.Element {
  useGrant(id);
  return (
    <Empty>
      <p>{TEXTS.labs.isClosed}</p>
      {mayOn(id, 'run') && (
        <button type="button" class="primary" onClick={() => void send(openProject(id)).catch(failed)}>
          {TEXTS.labs.openLab}
        </button>
      )}
    </Empty>
  );
}
