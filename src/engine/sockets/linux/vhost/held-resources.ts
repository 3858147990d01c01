/** Closing whatever the record of a port says that an engine has open. Nobody may use it any more. */
import { MOST_HELD, MOST_REGIONS, type GuestRecord } from '../../../../base/memory/guest-record.js';
import { libc } from '../libc.js';
import type { Poller } from '../poller.js';

export function closeHeld(record: GuestRecord, poller?: Poller): void {
  unmapHeld(record);
  for (let index = 0; index < MOST_HELD; index++) {
    const descriptor = record.descriptor(index);
    if (descriptor === undefined) continue;
    // The other side has these files open, too: closing them does not end that the poller watches them.
    poller?.remove(descriptor);
    libc.close(descriptor);
    record.hold(index, undefined);
  }
}

export function unmapHeld(record: GuestRecord): void {
  for (let index = 0; index < MOST_REGIONS; index++) {
    const { address, length } = record.region(index);
    if (length > 0) libc.munmap(address, length);
    record.holdRegion(index, 0, 0);
  }
}
