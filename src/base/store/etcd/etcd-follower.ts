/** Tells a follower of the commits in etcd: a transaction's events come with one revision, in one message. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unpack } from 'msgpackr';
import { changesBelow } from '../commit-log.js';
import { changeOf } from '../packing.js';
import type { Change, Follower, Key } from '../store.js';
import { isCompacted, keyValue, type EtcdClient, type WatchMessage } from './etcd-client.js';
import type { EtcdKeys } from './etcd-keys.js';
import type { LargeCommits } from './large-commits.js';

/** A server that is silent, but not gone, is noticed when the watch begins again. */
const WATCH_MS = 60_000;
const PAUSE_MS = 200;

type WatchEvent = NonNullable<WatchMessage['events']>[number];

interface EtcdFollowing {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly large: LargeCommits;
  readonly prefixes: readonly Key[];
  readonly follower: Follower;
}

/** Follows from after the revision, until the signal. */
export async function followEtcd(
  following: EtcdFollowing,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  const isStopped = (): boolean => signal.aborted;
  let told = revision;
  const tell = (changes: readonly Change[], at: number): void => {
    told = at;
    const below = changesBelow(changes, following.prefixes);
    if (below.length > 0) following.follower.committed(below, String(at));
    following.follower.passed?.(String(at));
  };
  while (!isStopped()) {
    try {
      const turn = AbortSignal.any([signal, AbortSignal.timeout(WATCH_MS)]);
      for await (const message of following.client.watch(following.keys.all, told + 1, turn)) {
        if (message.compact_revision !== undefined) {
          if (!isStopped()) following.follower.gone();
          return;
        }
        if (message.canceled === true) break;
        for (const [at, events] of byRevision(message)) {
          const changes = await changesOf(following, events, at);
          if (isStopped()) return;
          tell(changes, at);
        }
      }
    } catch (error) {
      if (isCompacted(error) && !isStopped()) {
        following.follower.gone();
        return;
      }
    }
    // The next server, or the same one after a moment.
    await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

function byRevision({ events = [] }: WatchMessage): Map<number, WatchEvent[]> {
  const groups = new Map<number, WatchEvent[]>();
  for (const event of events) {
    const at = Number(event.kv.mod_revision);
    const group = groups.get(at);
    if (group === undefined) groups.set(at, [event]);
    else group.push(event);
  }
  return groups;
}

async function changesOf(
  { keys, large }: EtcdFollowing,
  events: readonly WatchEvent[],
  revision: number,
): Promise<Change[]> {
  const changes: Change[] = [];
  for (const { type, kv } of events) {
    const { key, value, ...times } = keyValue(kv);
    // A step of a large commit was told when it was decided.
    if (key === keys.largeStep) return [];
    if (key === keys.large && type !== 'DELETE') {
      const decided = await large.changesOf({ key, value, ...times }, revision);
      changes.push(...decided.map(changeOf));
      continue;
    }
    const record = keys.keyOf(key);
    if (record === undefined) continue;
    changes.push(type === 'DELETE' ? { remove: record } : { put: record, value: unpack(value) as unknown });
  }
  return changes;
}
