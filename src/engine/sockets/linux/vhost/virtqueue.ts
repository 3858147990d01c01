/**
 * One split virtqueue: a table of buffers, the ring in which the guest makes chains of them available, and the ring in
 * which they are given back. The guest may change all of it at any moment. Whatever is read is read once.
 */
import type { Offload } from '../../../wire/offload.js';
import { OffloadHeader } from '../offload-header.js';
import { FAULT, GuestFault } from './guest-fault.js';
import type { GuestRegions, MappedRegion } from './guest-regions.js';
import { copyOctets, type Octets } from './octets.js';
import type { QueuePlace } from './vhost-message.js';

const DESCRIPTOR_LENGTH = 16;
const [HAS_NEXT, IS_WRITTEN, IS_TABLE] = [1, 2, 4];
const QUIET = 1;
const INDEXES = 0xffff;
/** In both rings, in units of 16 bits. */
const [AT_FLAGS, AT_INDEX, AT_RING] = [0, 1, 2];
const WORD = 2 ** 32;
/** The offset of `num_buffers`, the last field of the header before a frame. */
const AT_BUFFERS = 10;

interface QueueShape {
  readonly size: number;
  readonly place: QueuePlace;
  /** The chain to begin with. */
  readonly base: number;
  /** The length of the header before each frame. */
  readonly headerLength: number;
  /** Whether a frame may be given in several chains. */
  readonly merges: boolean;
  /** Whether the headers of frames say something. */
  readonly readsHeaders: boolean;
  /** Whether both sides tell by an index when they want to be told, and not by a flag. */
  readonly hasEventIndexes: boolean;
}

type PutResult = 'put' | 'no room' | 'too long';

export class Virtqueue {
  readonly #memory: GuestRegions;
  readonly #size: number;
  readonly #headerLength: number;
  readonly #merges: boolean;
  readonly #readsHeaders: boolean;
  readonly #hasEventIndexes: boolean;
  /** The header of the frame that was taken last. */
  readonly header = new OffloadHeader();
  readonly #table: Uint32Array;
  readonly #available: Uint16Array;
  readonly #usedIndexes: Uint16Array;
  readonly #used: Uint32Array;
  /** The next chain to take, and the number of those that are there. */
  #next: number;
  #waiting = 0;
  /** The next place in the ring of what is given back, and the one up to which the guest knows. */
  #usedNext: number;
  #usedTold: number;
  /** The descriptors that were read since the last look at the ring. */
  #steps = 0;

  constructor(memory: GuestRegions, shape: QueueShape) {
    const { size, place, base, hasEventIndexes } = shape;
    this.#memory = memory;
    this.#size = size;
    this.#headerLength = shape.headerLength;
    this.#merges = shape.merges;
    this.#readsHeaders = shape.readsHeaders;
    this.#hasEventIndexes = hasEventIndexes;
    const events = hasEventIndexes ? 1 : 0;
    const at = (frontend: number, length: number, alignment: number): [ArrayBufferLike, number] => {
      const { region, offset } = memory.placeOf(frontend, length, alignment);
      return [region.bytes.buffer, offset];
    };
    this.#table = new Uint32Array(...at(place.descriptors, size * DESCRIPTOR_LENGTH, 16), size * 4);
    const availableLength = AT_RING + size + events;
    this.#available = new Uint16Array(...at(place.available, 2 * availableLength, 2), availableLength);
    const usedLength = AT_RING + 4 * size + events;
    const used = at(place.used, 2 * usedLength, 4);
    this.#usedIndexes = new Uint16Array(...used, usedLength);
    this.#used = new Uint32Array(...used, 1 + 2 * size);
    this.#next = base;
    this.#usedNext = this.#usedTold = this.#usedIndexes[AT_INDEX] ?? 0;
  }

  /** The chain that comes next, for a queue that goes on later. */
  get next(): number {
    return this.#next;
  }

  /** The descriptors that were read since the last `look`. */
  get steps(): number {
    return this.#steps;
  }

  /** Looks at the ring; returns how many chains wait. */
  look(): number {
    const waiting = (Atomics.load(this.#available, AT_INDEX) - this.#next) & INDEXES;
    if (waiting > this.#size) throw new GuestFault(FAULT.index);
    this.#steps = 0;
    this.#waiting = waiting;
    return waiting;
  }

  /** Tells the guest whether to kick when it makes chains available. Look at the ring again afterwards. */
  wantKicks(wanted: boolean): void {
    if (!this.#hasEventIndexes) Atomics.store(this.#usedIndexes, AT_FLAGS, wanted ? 0 : QUIET);
    // An index that lies behind is not reached for a long time.
    else if (wanted) Atomics.store(this.#usedIndexes, AT_RING + 4 * this.#size, this.#next);
  }

  /** Copies the frame of the next chain that waits; returns its length, -1 for one that is longer than `room`. */
  take(to: Octets, at: number, room: number): number {
    const head = this.#takeHead();
    let index = head;
    let header = this.#headerLength;
    let length = 0;
    for (let steps = 1; ; steps++) {
      const descriptor = this.#descriptorAt(index, steps);
      const address = this.#addressOf(descriptor);
      const octets = this.#table[descriptor + 2] ?? 0;
      const rest = this.#table[descriptor + 3] ?? 0;
      if ((rest & (IS_WRITTEN | IS_TABLE)) !== 0) throw new GuestFault(FAULT.direction);
      const region = this.#memory.regionAt(address, octets);
      const skipped = Math.min(header, octets);
      if (skipped > 0 && this.#readsHeaders)
        this.#readHeader(region, address - region.guest, header, skipped);
      header -= skipped;
      const count = octets - skipped;
      if (length + count <= room)
        copyOctets(to, at + length, region, address - region.guest + skipped, count);
      length += count;
      if ((rest & HAS_NEXT) === 0) break;
      index = rest >>> 16;
    }
    if (header > 0) throw new GuestFault(FAULT.direction);
    this.#giveBack(head, 0, 0);
    this.#usedNext = (this.#usedNext + 1) & INDEXES;
    return length > room ? -1 : length;
  }

  /** Gives a frame to the guest, in as many chains as it takes. */
  put(from: Octets, offset: number, length: number, offload?: Offload): PutResult {
    const first = this.#next;
    const waiting = this.#waiting;
    let chains = 0;
    let done = 0;
    let headerRegion: MappedRegion | undefined;
    let headerAt = 0;
    while (done < length || headerRegion === undefined) {
      if (this.#waiting === 0 || (chains > 0 && !this.#merges)) {
        this.#next = first;
        const result = this.#waiting === 0 ? 'no room' : 'too long';
        this.#waiting = waiting;
        return result;
      }
      const head = this.#takeHead();
      let index = head;
      let written = 0;
      for (let steps = 1; ; steps++) {
        const descriptor = this.#descriptorAt(index, steps);
        const address = this.#addressOf(descriptor);
        const octets = this.#table[descriptor + 2] ?? 0;
        const rest = this.#table[descriptor + 3] ?? 0;
        if ((rest & IS_WRITTEN) === 0 || (rest & IS_TABLE) !== 0) throw new GuestFault(FAULT.direction);
        const region = this.#memory.regionAt(address, octets);
        let at = address - region.guest;
        let count = octets;
        if (headerRegion === undefined) {
          if (octets < this.#headerLength) throw new GuestFault(FAULT.direction);
          headerRegion = region;
          headerAt = at;
          at += this.#headerLength;
          count -= this.#headerLength;
          written = this.#headerLength;
        }
        count = Math.min(count, length - done);
        copyOctets(region, at, from, offset + done, count);
        done += count;
        written += count;
        if (done === length || (rest & HAS_NEXT) === 0) break;
        index = rest >>> 16;
      }
      this.#giveBack(head, written, chains);
      chains++;
    }
    this.#writeHeader(headerRegion, headerAt, chains, offload);
    this.#usedNext = (this.#usedNext + chains) & INDEXES;
    return 'put';
  }

  /** Lets the guest see what was given back; returns whether it wants to be called. */
  publish(): boolean {
    if (this.#usedNext === this.#usedTold) return false;
    const told = this.#usedTold;
    this.#usedTold = this.#usedNext;
    Atomics.store(this.#usedIndexes, AT_INDEX, this.#usedNext);
    if (this.#hasEventIndexes) {
      const wanted = Atomics.load(this.#available, AT_RING + this.#size);
      return ((this.#usedNext - wanted - 1) & INDEXES) < ((this.#usedNext - told) & INDEXES);
    }
    return (Atomics.load(this.#available, AT_FLAGS) & QUIET) === 0;
  }

  #takeHead(): number {
    const head = this.#available[AT_RING + (this.#next & (this.#size - 1))] ?? 0;
    this.#next = (this.#next + 1) & INDEXES;
    this.#waiting--;
    return head;
  }

  /** The place of a descriptor in the table. A chain has no more descriptors than the table. */
  #descriptorAt(index: number, steps: number): number {
    if (index >= this.#size || steps > this.#size) throw new GuestFault(FAULT.chain);
    this.#steps++;
    return index * 4;
  }

  #addressOf(descriptor: number): number {
    return (this.#table[descriptor] ?? 0) + (this.#table[descriptor + 1] ?? 0) * WORD;
  }

  #giveBack(head: number, written: number, ahead: number): void {
    const element = 1 + 2 * ((this.#usedNext + ahead) & (this.#size - 1));
    this.#used[element] = head;
    this.#used[element + 1] = written;
  }

  /** Reads a part of the header of a frame, of which so many octets are still to come. */
  #readHeader(region: MappedRegion, at: number, left: number, length: number): void {
    if (length === this.#headerLength && (at & 3) === 0) {
      this.header.words[0] = region.words[at >>> 2] ?? 0;
      // Nothing else of it is looked at then.
      if (this.header.isPlain) return;
    }
    copyOctets(this.header, this.#headerLength - left, region, at, length);
  }

  #writeHeader(region: MappedRegion, at: number, chains: number, offload: Offload | undefined): void {
    const { bytes, words } = region;
    if (offload !== undefined) {
      this.header.set(offload, chains);
      copyOctets(region, at, this.header, 0, this.#headerLength);
    } else if ((at & 3) === 0 && this.#headerLength > AT_BUFFERS) {
      const word = at >>> 2;
      words[word] = words[word + 1] = 0;
      words[word + 2] = chains << 16;
    } else {
      bytes.fill(0, at, at + this.#headerLength);
      if (this.#headerLength <= AT_BUFFERS) return;
      bytes[at + AT_BUFFERS] = chains & 0xff;
      bytes[at + AT_BUFFERS + 1] = chains >> 8;
    }
  }
}
