/** The servers of the farm that live: each has a record that goes with it. */
import { z } from 'zod';
import type { Change, SharedStore, StoredRecord } from '../base/store/store.js';
import { keyOf, type RecordListener } from './followed-records.js';

const SERVER = 'server';

const serverRecord = z.object({
  /** Where the others reach it: `http://10.0.0.5:3080`. */
  address: z.string().max(512),
  version: z.string().max(64),
  /** Another one after each start: what was signed for an earlier life of the server counts no more. */
  life: z.string().min(1).max(64),
  /** Set when it is about to end: it takes nothing new, and lets others have what it has. */
  isLeaving: z.boolean().optional(),
});

export type ServerRecord = z.infer<typeof serverRecord>;

export class Servers implements RecordListener {
  readonly #live = new Map<string, ServerRecord>();

  /** By their names. */
  get live(): ReadonlyMap<string, ServerRecord> {
    return this.#live;
  }

  replaced(records: readonly StoredRecord[]): void {
    this.#live.clear();
    for (const { key, value } of records) this.#set(key[1] ?? '', value);
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) {
      const id = keyOf(change)[1];
      if ('put' in change) this.#set(id ?? '', change.value);
      else if (id === undefined) this.#live.clear();
      else this.#live.delete(id);
    }
  }

  /** A record of a later version that this one cannot read is that of no server. */
  #set(id: string, value: unknown): void {
    const { data } = serverRecord.safeParse(value);
    if (data === undefined) this.#live.delete(id);
    else this.#live.set(id, data);
  }
}

/** A number that grows from one start of a server to the next: the epoch of a claim that it makes then. */
export async function numberOfStart(store: Pick<SharedStore, 'claim'>, id: string): Promise<number> {
  const outcome = await store.claim(`@start-${id}`);
  if ('heldBy' in outcome) throw new Error(`the start of ${id} is of ${outcome.heldBy}`);
  await outcome.claim.release();
  return outcome.claim.epoch;
}

/** Lets the others know of a server, for as long as it lives. */
export function announceServer(store: SharedStore, id: string, record: ServerRecord): Promise<void> {
  return store.announce([SERVER, id], record);
}
