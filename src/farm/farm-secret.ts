/** The secret that the servers of a farm share. The first of them makes it; it is told to nobody, and in no log. */
import { randomBytes } from 'node:crypto';
import type { SharedStore } from '../base/store/store.js';
import type { FarmClock } from './farm-clock.js';

/** The scope of the server that makes it. */
const SCOPE = '@secret';
const KEY = ['secret', 'forwarding'];
const OCTETS = 32;
/** Another server is making it. One that has died while it did is waited for as long as its claim lasts. */
const PAUSE_MS = 100;
const TRIES = 150;

export async function farmSecret(
  store: Pick<SharedStore, 'load' | 'claim'>,
  clock: Pick<FarmClock, 'after'>,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const [record] = await store.load(KEY);
    if (record !== undefined) return textOf(record.value);
    const outcome = await store.claim(SCOPE, KEY);
    if ('claim' in outcome) {
      const { claim, reading } = outcome;
      const [made] = reading.records;
      const secret = made === undefined ? randomBytes(OCTETS).toString('base64url') : textOf(made.value);
      if (made === undefined) await claim.store.commit([{ put: KEY, value: secret }]);
      await claim.release();
      return secret;
    }
    if (attempt === TRIES)
      throw new Error(`the server ${outcome.heldBy} does not make the secret of the farm`);
    await new Promise<void>((resolve) => {
      clock.after(PAUSE_MS, resolve);
    });
  }
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('the secret of the farm is of a later version');
  return value;
}
