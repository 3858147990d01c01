/**
 * A number among the properties of a node that no other node of this server has while its project is open, as the
 * application id of an IOU node.
 */
import { refusals } from '../../base/errors/errors.js';
import type { NodeKind, Properties } from '../kinds/node-kind.js';
import { NumberPool } from '../number-pool.js';
import type { Transaction } from '../projects/transaction.js';

export class HostNumbers {
  readonly #consolePorts: NumberPool;
  readonly #pools = new Map<string, NumberPool>();

  constructor(consolePorts: NumberPool) {
    this.#consolePorts = consolePorts;
  }

  /** The properties with the number that they ask for when it is free, or another; null when all are taken. */
  take(kind: NodeKind, properties: Properties): Properties {
    const { hostNumber } = kind;
    if (hostNumber === undefined) return properties;
    const wanted = properties[hostNumber.property];
    const number = this.#pool(kind).reserve(typeof wanted === 'number' ? wanted : null);
    return { ...properties, [hostNumber.property]: number };
  }

  /** The same for a change that may be undone. Refuses (409) when all are taken. */
  takeIn(transaction: Transaction, kind: NodeKind, properties: Properties): Properties {
    const taken = this.take(kind, properties);
    const { hostNumber } = kind;
    if (hostNumber?.last !== undefined && taken[hostNumber.property] === null)
      throw refusals.tooMany(`nodes of type ${kind.type} in open projects`, hostNumber.last);
    transaction.onUndo(() => {
      this.release(kind, taken);
    });
    return taken;
  }

  /** The number of a node changes only when a client gives another one. */
  moveIn(transaction: Transaction, kind: NodeKind, before: Properties, next: Properties): Properties {
    const { hostNumber } = kind;
    if (hostNumber === undefined || next[hostNumber.property] === before[hostNumber.property]) return next;
    const taken = this.takeIn(transaction, kind, next);
    transaction.onStored(() => {
      this.release(kind, before);
    });
    return taken;
  }

  release(kind: NodeKind, { [kind.hostNumber?.property ?? '']: number }: Properties): void {
    if (typeof number === 'number') this.#pool(kind).release(number);
  }

  #pool({ type, hostNumber }: NodeKind): NumberPool {
    const last = hostNumber?.last;
    if (last === undefined) return this.#consolePorts;
    const pool = this.#pools.get(type) ?? new NumberPool([1, last]);
    this.#pools.set(type, pool);
    return pool;
  }
}
