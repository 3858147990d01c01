/**
 * The memory of a guest, mapped. A file that shrinks would end the whole process at the next access, by a signal that
 * JavaScript cannot catch: so only a memfd is taken that is sealed against it, and no more of it than is there. The
 * contents may change at any moment: every value is read once, and checked before it is used.
 */
import { fstatSync, statfsSync } from 'node:fs';
import koffi from 'koffi';
import { MOST_REGIONS, type GuestRecord } from '../../../../base/memory/guest-record.js';
import { libc } from '../libc.js';
import { FAULT, GuestFault } from './guest-fault.js';
import { unmapHeld } from './held-resources.js';
import type { Region } from './vhost-message.js';

const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
const F_SEAL_SHRINK = 2;
/** The file system of memory. Huge pages are another, which may run out: an access then ends the process, too. */
const TMPFS = 0x0102_1994;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const PAGE = 4096;
/** V8 ends the process when it is to see more at once. */
const MOST_IN_VIEW = 2 ** 32;

export interface MappedRegion extends Region {
  readonly address: number;
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
}

/** A stretch that lies wholly in one region. */
interface Stretch {
  readonly region: MappedRegion;
  readonly offset: number;
}

export class GuestRegions {
  readonly #record: GuestRecord;
  #regions: MappedRegion[] = [];
  /** The region of the latest stretch: most frames lie where the one before did. */
  #latest: MappedRegion | undefined;

  constructor(record: GuestRecord) {
    this.#record = record;
  }

  /** Replaces all that is mapped. The caller closes the files, and has dropped what looks at the memory. */
  map(regions: readonly Region[], files: readonly number[], most: number): void {
    this.unmap();
    const total = regions.reduce((sum, { length }) => sum + length, 0);
    if (regions.length > MOST_REGIONS || regions.length !== files.length)
      throw new GuestFault(FAULT.descriptors);
    if (total > most) throw new GuestFault(FAULT.bounds);
    regions.forEach((region, index) => {
      checkFile(region, files[index] ?? -1);
      const address = libc.mmap(
        0,
        region.length,
        PROT_READ_WRITE,
        MAP_SHARED,
        files[index] ?? -1,
        region.offset,
      );
      if (!Number.isSafeInteger(address)) throw new GuestFault(FAULT.mapping);
      this.#record.holdRegion(index, address, region.length);
      const view = koffi.view(address, region.length);
      const words = new Int32Array(view, 0, region.length >>> 2);
      this.#regions.push({ ...region, address, bytes: new Uint8Array(view), words });
    });
  }

  unmap(): void {
    this.#regions = [];
    this.#latest = undefined;
    unmapHeld(this.#record);
  }

  /** The region in which this many octets lie from an address of the guest on. */
  regionAt(guest: number, length: number): MappedRegion {
    const latest = this.#latest;
    if (latest !== undefined && guest >= latest.guest && guest + length <= latest.guest + latest.length)
      return latest;
    const found = this.#regions.find((region) => isWithin(guest, length, region.guest, region.length));
    if (found === undefined) throw new GuestFault(FAULT.buffer);
    this.#latest = found;
    return found;
  }

  /** The place of a part of a queue, by its address in the program around the guest. */
  placeOf(frontend: number, length: number, alignment: number): Stretch {
    const region = this.#regions.find((each) => isWithin(frontend, length, each.frontend, each.length));
    if (region === undefined) throw new GuestFault(FAULT.queuePlace);
    const offset = frontend - region.frontend;
    if (offset % alignment !== 0) throw new GuestFault(FAULT.queuePlace);
    return { region, offset };
  }
}

function isWithin(start: number, length: number, first: number, size: number): boolean {
  return start >= first && start + length <= first + size;
}

/** Refuses a file that may become shorter than the region, or is. */
function checkFile({ length, offset, guest, frontend }: Region, file: number): void {
  libc.fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
  const seals = libc.fcntl(file, F_GET_SEALS, 0);
  // Only files in memory have seals; a file of another kind is not looked at any further.
  if (seals < 0 || (seals & F_SEAL_SHRINK) === 0) throw new GuestFault(FAULT.seal);
  if (statfsSync(`/proc/self/fd/${file}`).type !== TMPFS) throw new GuestFault(FAULT.seal);
  const isWhole = length > 0 && length % PAGE === 0 && offset % PAGE === 0;
  if (!isWhole || length > MOST_IN_VIEW || offset + length > fstatSync(file).size)
    throw new GuestFault(FAULT.bounds);
  if (!Number.isSafeInteger(guest + length) || !Number.isSafeInteger(frontend + length))
    throw new GuestFault(FAULT.bounds);
}
