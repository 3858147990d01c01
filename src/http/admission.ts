/**
 * Decides which new connections are accepted. A process without a free descriptor can neither accept nor refuse one,
 * and is woken by the waiting connection again and again. So some descriptors are kept free for files and sockets of
 * the server itself, and a connection beyond the limit is refused while there is still a descriptor to refuse it with.
 */
import type { Logger } from 'pino';
import { refusals, type Refusal } from '../base/errors/errors.js';

/** The descriptors of this process. */
export interface DescriptorTable {
  /** The process may have so many at the same time. */
  readonly most: number;
  /** The lowest free descriptor: all below it are in use. */
  lowestFree(): number;
  /** The number of TCP connections of each address, which is in hexadecimal digits. */
  connections(): Map<string, number>;
}

/** Kept free for threads that start later (three each), their open files, and the sockets of engines. */
const RESERVE = 96;
/** The reserve of a process with few descriptors is at most this part of them. */
const RESERVED_PART = 1 / 4;
/** Connections cost memory, so there is a limit whatever the host allows. */
const MOST_CONNECTIONS = 16_384;
/** The count of connections by address is used for so long. */
const COUNT_MS = 1000;
const QUIET_MS = 60_000;

export class Admission {
  readonly #table: DescriptorTable;
  readonly #log: Logger;
  /** This descriptor and all above it are reserved. */
  readonly #ceiling: number;
  readonly #mostConnections: number;
  #connections = 0;
  #counted: { readonly at: number; readonly byOwner: Map<string, number> } | undefined;
  #loggedAt = -Infinity;

  constructor(table: DescriptorTable, log: Logger) {
    this.#table = table;
    this.#log = log;
    this.#ceiling = table.most - Math.min(RESERVE, Math.ceil(table.most * RESERVED_PART));
    // A connection may need an open file, too.
    const pairs = Math.floor((this.#ceiling - table.lowestFree()) / 2);
    this.#mostConnections = Math.max(1, Math.min(MOST_CONNECTIONS, pairs));
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#connections;
  }

  /** Counts a new connection of the address until it is `closed`. Undefined when it may stay. A proxy may have all. */
  opened(address: Uint8Array, isProxy = false): Refusal | undefined {
    this.#connections++;
    const owner = isProxy ? undefined : ownerOf(address);
    const isFull = this.#connections > this.#mostConnections || this.#table.lowestFree() >= this.#ceiling;
    if (!isFull && !this.#hasTooMany(owner)) return undefined;
    this.#tell(isFull);
    return isFull ? refusals.tooManyConnections() : refusals.tooManyConnectionsOfOne();
  }

  closed(): void {
    this.#connections--;
  }

  /** No address may have more than half of all connections, unless it is this very host or a proxy. */
  #hasTooMany(owner: string | undefined): boolean {
    const share = this.#mostConnections / 2;
    if (owner === undefined || this.#connections <= share) return false;
    const now = performance.now();
    if (this.#counted === undefined || now - this.#counted.at > COUNT_MS) {
      this.#counted = { at: now, byOwner: this.#count() };
    } else this.#counted.byOwner.set(owner, (this.#counted.byOwner.get(owner) ?? 0) + 1);
    return (this.#counted.byOwner.get(owner) ?? 0) > share;
  }

  #count(): Map<string, number> {
    const byOwner = new Map<string, number>();
    for (const [address, count] of this.#table.connections()) {
      const owner = ownerOf(Buffer.from(address, 'hex'));
      if (owner !== undefined) byOwner.set(owner, (byOwner.get(owner) ?? 0) + count);
    }
    return byOwner;
  }

  #tell(isFull: boolean): void {
    const now = performance.now();
    if (now - this.#loggedAt < QUIET_MS) return;
    this.#loggedAt = now;
    const facts = { connections: this.#connections - 1, descriptors: this.#table.most };
    if (isFull)
      this.#log.warn(facts, 'new connections are refused: raise the limit of open files (ulimit -n)');
    else this.#log.warn(facts, 'new connections of an address are refused: it has half of all there may be');
  }
}

/** An IPv4 address, or the /64 network of an IPv6 address, which belongs to one customer; undefined for this host. */
function ownerOf(address: Uint8Array): string | undefined {
  const bytes = Buffer.from(address);
  const isMapped = bytes.length === 16 && bytes.subarray(0, 12).equals(MAPPED);
  const plain = isMapped ? bytes.subarray(12) : bytes;
  if (plain.length === 4) return plain[0] === 127 ? undefined : plain.toString('hex');
  return plain.equals(LOOPBACK_6) ? undefined : plain.toString('hex', 0, 8);
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');
const LOOPBACK_6 = Buffer.from('00000000000000000000000000000001', 'hex');
