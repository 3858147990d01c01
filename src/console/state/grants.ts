/** How far this account may use each lab: nobody is offered what the server would refuse. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LabFiguresShape } from '../../api/shapes/lab-overview.js';
import { grantFor, includesGrant, type Grant, type Right } from '../../base/rights.js';
import { send } from '../api/call.js';
import { showGrant } from '../api/grants.js';
import { may } from './account.js';
import { reconnections } from './connection.js';

const grants = signal<ReadonlyMap<string, Grant>>(new Map());

export function learnGrants(labs: readonly Pick<LabFiguresShape, 'project_id' | 'grant'>[]): void {
  grants.value = new Map([...grants.value, ...labs.map(({ project_id: id, grant }) => [id, grant] as const)]);
}

/** Asks for the grant on the lab of a page: when it opens, and when the server was away. */
export function useGrant(labId: string): void {
  const { value: reconnected } = reconnections;
  useEffect(() => {
    send(showGrant(labId)).then(
      ({ grant }) => learnGrants([{ project_id: labId, grant }]),
      // The page itself asks for more, and says why it gets nothing.
      () => undefined,
    );
  }, [labId, reconnected]);
}

/** Whether the account may do on this lab what needs the right, and the grant where it is more than that of the right. */
export function mayOn(labId: string, right: Right, needed: Grant | undefined = grantFor(right)): boolean {
  const grant = grants.value.get(labId);
  return may(right) && grant !== undefined && (needed === undefined || includesGrant(grant, needed));
}
