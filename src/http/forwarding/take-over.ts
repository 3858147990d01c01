/** The wait of a stream of a project for its next owner, when the former one has gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { envelope } from '../../base/streams/channel.js';
import type { OwningServer, ScopeOwners } from './scope-owners.js';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;
const NOBODY = { at: 'nobody' } as const;

/** `refused` when the owner has an answer that is no stream. */
export type Attempt = 'open' | 'refused' | 'failed';

/** The event that tells a client of it. */
export const OWNER_CHANGES = envelope(
  'log.warning',
  JSON.stringify({
    message:
      'The server that ran this project has gone: some events may be missing until another has taken over',
  }),
);

interface TakeOver {
  readonly owners: ScopeOwners;
  /** This server, which may be the next owner: it is asked like any other. */
  readonly own: () => OwningServer;
  readonly scope: string;
  /** Whether the client is there still. */
  readonly isWanted: () => boolean;
  /** Asks an owner for the stream, and calls `tell` before it goes on. */
  readonly attempt: (owner: OwningServer, tell: () => void) => Promise<Attempt>;
  /** Tells the client, once, unless the first who is asked refuses. */
  readonly tell: () => void;
}

/** Asks who has the scope, and there, until somebody has an answer. Resolves with whether the stream goes on. */
export async function takeOver(options: TakeOver): Promise<boolean> {
  const { owners, own, scope, isWanted, attempt, tell } = options;
  let isTold = false;
  const tellOnce = (): void => {
    if (!isTold) tell();
    isTold = true;
  };
  for (let waitMs = FIRST_WAIT_MS; isWanted(); waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    const found = await owners.find(scope, false).catch(() => NOBODY);
    const outcome =
      found.at === 'nobody' ? 'failed' : await attempt(found.at === 'here' ? own() : found, tellOnce);
    if (outcome === 'refused') return false;
    if (outcome === 'open') return true;
    tellOnce();
    await sleep(waitMs, undefined, { ref: false });
  }
  return false;
}

/** Numbers of events are of one owner: with another one, a client learns that it has missed some. */
export function queryForNextOwner(query: string): string {
  return query.replace(/(^|&)since=\d+/, `$1since=${Number.MAX_SAFE_INTEGER}`);
}
