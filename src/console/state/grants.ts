/** How far this account may use each lab: nobody is offered what the server would refuse. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LabFiguresShape } from '../../api/shapes/lab-overview.js';
import { grantFor, includesGrant, type Grant, type Right } from '../../base/rights.js';
import { RefusedCall, send } from '../api/call.js';
import { showGrant } from '../api/grants.js';
import { may } from './account.js';
import { reconnections } from './connection.js';

const PERIOD_MS = 3000;
const NO_GRANT: readonly number[] = [403, 404];

const grants = signal<ReadonlyMap<string, Grant>>(new Map());

export function learnGrants(labs: readonly Pick<LabFiguresShape, 'project_id' | 'grant'>[]): void {
  if (labs.every(({ project_id: id, grant }) => grants.value.get(id) === grant)) return;
  grants.value = new Map([...grants.value, ...labs.map(({ project_id: id, grant }) => [id, grant] as const)]);
}

function forgetGrant(labId: string): void {
  if (!grants.value.has(labId)) return;
  grants.value = new Map([...grants.value].filter(([id]) => id !== labId));
}

/**
 * Asks for the grant on the lab of a page again and again while the page is seen: it changes with the grants of users and of
 * groups, and with the groups themselves.
 */
export function useGrant(labId: string): void {
  const { value: reconnected } = reconnections;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const read = async (): Promise<void> => {
      if (!document.hidden)
        await send(showGrant(labId)).then(
          ({ grant }) => learnGrants([{ project_id: labId, grant }]),
          // The page itself asks for more, and says why it gets nothing.
          (reason: unknown) => {
            if (reason instanceof RefusedCall && NO_GRANT.includes(reason.status)) forgetGrant(labId);
          },
        );
      if (!isOver) timer = setTimeout(() => void read(), PERIOD_MS);
    };
    void read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [labId, reconnected]);
}

/** Whether the account may do on this lab what needs the right, and the grant where it is more than that of the right. */
export function mayOn(labId: string, right: Right, needed: Grant | undefined = grantFor(right)): boolean {
  const grant = grants.value.get(labId);
  return may(right) && grant !== undefined && (needed === undefined || includesGrant(grant, needed));
}
