/** The rows of counters of ports on the bench, and whether every frame is accounted for. */
import {
  COUNTER,
  COUNTER_NAMES,
  DROP_CAUSES,
  ROW_LENGTH,
  type CounterName,
} from '../../src/base/memory/port-counters.js';
import { Port } from '../../src/engine/forwarding/port.js';

export class PortBooks {
  readonly values: Float64Array;

  constructor(rows: number) {
    this.values = new Float64Array(rows * ROW_LENGTH);
  }

  newPort(number: number, row = number): Port {
    return new Port(number, this.values, row * ROW_LENGTH);
  }

  counter(row: number, name: CounterName): number {
    return this.values[row * ROW_LENGTH + COUNTER[name]] ?? 0;
  }

  /** Everything that is not zero in a row. */
  counters(row: number): Partial<Record<CounterName, number>> {
    return notZero((name) => this.counter(row, name));
  }

  /** The sum of all rows. */
  total(name: CounterName): number {
    let sum = 0;
    for (let at = COUNTER[name]; at < this.values.length; at += ROW_LENGTH) sum += this.values[at] ?? 0;
    return sum;
  }

  totals(): Partial<Record<CounterName, number>> {
    return notZero((name) => this.total(name));
  }

  /** Frames that came in without having gone anywhere: 0, or frames were lost or invented. */
  get unaccounted(): number {
    return unaccountedOf((name) => this.total(name));
  }
}

/** The same of counters from anywhere. */
export function unaccountedOf(value: (name: CounterName) => number): number {
  const entered = value('frames_in') + value('copies') + value('originated');
  const dropped = DROP_CAUSES.reduce((sum, cause) => sum + value(cause), 0);
  return entered - value('frames_out') - value('consumed') - dropped;
}

function notZero(value: (name: CounterName) => number): Partial<Record<CounterName, number>> {
  return Object.fromEntries(
    COUNTER_NAMES.map((name) => [name, value(name)]).filter(([, count]) => count !== 0),
  ) as Partial<Record<CounterName, number>>;
}
