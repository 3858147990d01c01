/**
 * The MAC address table: the port where an address was last seen in a VLAN. Buckets of four entries in one typed array,
 * so that a lookup reads one stretch of 64 bytes and allocates nothing. The table starts small, because most switches
 * see few stations, and doubles when a bucket is full; at its largest size, the entry of the bucket that has been silent
 * for longest is replaced. Times are in whole seconds.
 */
import { formatAddress, isGroupAddress } from '../wire/ethernet.js';

export const SMALLEST_MAC_TABLE = 64;
export const LARGEST_MAC_TABLE = 16_384;
/** A station that is silent for longer than this is forgotten. */
export const MAC_LIFETIME_SECONDS = 300;

export interface MacEntry {
  readonly mac: string;
  readonly vlan: number;
  readonly port: number;
  readonly age_seconds: number;
}

const WAYS = 4;
/** The fields of an entry: VLAN and first 16 bits of the address, the other 32 bits, the port, the time it was seen. */
const FIELDS = 4;
const LOW = 1;
const PORT = 2;
const SEEN = 3;
const BUCKET = WAYS * FIELDS;
const EMPTY = -1;

export class MacTable {
  #entries = emptyEntries(SMALLEST_MAC_TABLE);
  /** The number of buckets minus one. */
  #mask = SMALLEST_MAC_TABLE / WAYS - 1;

  /** The number of entries that fit into the current memory. */
  get capacity(): number {
    return this.#entries.length / FIELDS;
  }

  /** The port of a station, or -1 when it is unknown. Port numbers are not negative. */
  find(high: number, low: number, vlan: number, seconds: number): number {
    const entries = this.#entries;
    const key = keyOf(high, vlan);
    const first = this.#bucketOf(key, low);
    for (let at = first; at < first + BUCKET; at += FIELDS) {
      if (entries[at] !== key || entries[at + LOW] !== low) continue;
      return this.#isOld(at, seconds) ? EMPTY : (entries[at + PORT] ?? EMPTY);
    }
    return EMPTY;
  }

  /** Notes that an address was seen at a port just now. Group addresses are not learnt. */
  learn(high: number, low: number, vlan: number, port: number, seconds: number): void {
    if (isGroupAddress(high)) return;
    const entries = this.#entries;
    const key = keyOf(high, vlan);
    const first = this.#bucketOf(key, low);
    for (let at = first; at < first + BUCKET; at += FIELDS) {
      if (entries[at] !== key || entries[at + LOW] !== low) continue;
      entries[at + PORT] = port;
      entries[at + SEEN] = seconds;
      return;
    }
    const at = this.#room(key, low, seconds);
    this.#entries[at] = key;
    this.#entries[at + LOW] = low;
    this.#entries[at + PORT] = port;
    this.#entries[at + SEEN] = seconds;
  }

  forgetPort(port: number): void {
    const entries = this.#entries;
    for (let at = 0; at < entries.length; at += FIELDS) {
      if (entries[at + PORT] === port) entries.fill(EMPTY, at, at + FIELDS);
    }
  }

  clear(): void {
    this.#entries = emptyEntries(SMALLEST_MAC_TABLE);
    this.#mask = SMALLEST_MAC_TABLE / WAYS - 1;
  }

  /** The entries, sorted by VLAN and address. */
  list(seconds: number): MacEntry[] {
    const entries = this.#entries;
    const list: MacEntry[] = [];
    for (let at = 0; at < entries.length; at += FIELDS) {
      if (this.#isOld(at, seconds)) continue;
      const key = entries[at] ?? 0;
      list.push({
        mac: formatAddress(key & 0xffff, entries[at + LOW] ?? 0),
        vlan: key >>> 16,
        port: entries[at + PORT] ?? EMPTY,
        age_seconds: seconds - (entries[at + SEEN] ?? 0),
      });
    }
    return list.sort((a, b) => a.vlan - b.vlan || (a.mac < b.mac ? -1 : 1));
  }

  /** Whether an entry is empty, or its station was silent for too long. */
  #isOld(at: number, seconds: number): boolean {
    const entries = this.#entries;
    return entries[at + PORT] === EMPTY || seconds - (entries[at + SEEN] ?? 0) > MAC_LIFETIME_SECONDS;
  }

  /** Finds a place for a new entry with this key. */
  #room(key: number, low: number, seconds: number): number {
    for (;;) {
      const first = this.#bucketOf(key, low);
      let oldest = first;
      for (let at = first; at < first + BUCKET; at += FIELDS) {
        if (this.#isOld(at, seconds)) return at;
        if ((this.#entries[at + SEEN] ?? 0) < (this.#entries[oldest + SEEN] ?? 0)) oldest = at;
      }
      if (this.capacity === LARGEST_MAC_TABLE) return oldest;
      this.#grow();
    }
  }

  /** Doubles the table. Each bucket splits into two, so every entry finds room in its new bucket. */
  #grow(): void {
    const old = this.#entries;
    const entries = emptyEntries(this.capacity * 2);
    this.#entries = entries;
    this.#mask = this.#mask * 2 + 1;
    for (let from = 0; from < old.length; from += FIELDS) {
      if (old[from + PORT] === EMPTY) continue;
      let at = this.#bucketOf(old[from] ?? 0, old[from + LOW] ?? 0);
      while (entries[at + PORT] !== EMPTY) at += FIELDS;
      for (let field = 0; field < FIELDS; field++) entries[at + field] = old[from + field] ?? 0;
    }
  }

  #bucketOf(key: number, low: number): number {
    const mixed = Math.imul(low ^ Math.imul(key, 0x85ebca6b), 0x9e3779b1);
    return ((mixed ^ (mixed >>> 15)) & this.#mask) * BUCKET;
  }
}

function keyOf(high: number, vlan: number): number {
  return (vlan << 16) | high;
}

function emptyEntries(count: number): Int32Array {
  return new Int32Array(count * FIELDS).fill(EMPTY);
}
