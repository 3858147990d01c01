/**
 * The counters of the engines. The rows of ports are never set back, whoever uses them and however often an engine is
 * started again, so their sum never falls.
 */
import { COUNTER, COUNTER_NAMES, DROP_CAUSES, ROW_LENGTH } from '../../base/memory/port-counters.js';
import type { MetricPage } from '../../base/metrics/metric-page.js';

/** One engine, as far as it is counted. */
export interface CountedEngine {
  readonly counters: Float64Array;
  /** Rows from this one on have never been used. */
  readonly usedRows: number;
  readonly ports: number;
  readonly labs: number;
  readonly restarts: number;
}

/** An engine with the sums of the rows of all its ports. */
export interface SummedEngine extends Pick<CountedEngine, 'ports' | 'labs' | 'restarts'> {
  readonly sums: Float64Array;
}

/** Sums all rows at once, which takes milliseconds when all of them are in use. */
export function summed({ counters, usedRows, ports, labs, restarts }: CountedEngine): SummedEngine {
  const sums = new Float64Array(ROW_LENGTH);
  addRows(sums, counters, 0, usedRows);
  return { ports, labs, restarts, sums };
}

/** The loop is given back after so many rows. */
const ROWS_A_SLICE = 1024;

const PASSED = {
  frames: { in: COUNTER.frames_in, out: COUNTER.frames_out },
  octets: { in: COUNTER.octets_in, out: COUNTER.octets_out },
} as const;

export function* writeEngines(page: MetricPage, engines: readonly CountedEngine[]): Iterable<void> {
  const totals: Float64Array[] = [];
  for (const engine of engines) {
    const sums = new Float64Array(ROW_LENGTH);
    for (let row = 0; row < engine.usedRows; row += ROWS_A_SLICE) {
      addRows(sums, engine.counters, row, Math.min(engine.usedRows, row + ROWS_A_SLICE));
      yield;
    }
    totals.push(sums);
  }
  for (const [what, directions] of Object.entries(PASSED)) {
    page.counter(`engine_${what}`, `The ${what} that came in and went out at the ports of an engine`);
    for (const [engine, sums] of totals.entries()) {
      for (const [direction, counter] of Object.entries(directions))
        page.sample(sums[counter] ?? 0, { engine, direction });
    }
  }
  page.counter('drops', 'Frames that an engine has dropped, by the cause');
  for (const [engine, sums] of totals.entries()) {
    for (const cause of DROP_CAUSES) page.sample(sums[COUNTER[cause]] ?? 0, { engine, cause });
  }
  const writeEach = (valueOf: (engine: CountedEngine) => number): void => {
    for (const [engine, counted] of engines.entries()) page.sample(valueOf(counted), { engine });
  };
  page.counter('engine_restarts', 'Starts of an engine after the first');
  writeEach(({ restarts }) => restarts);
  page.gauge('engine_labs', 'Labs that run on an engine');
  writeEach(({ labs }) => labs);
  page.gauge('engine_ports', 'Ports that are attached to an engine');
  writeEach(({ ports }) => ports);
}

function addRows(sums: Float64Array, counters: Float64Array, from: number, to: number): void {
  for (let start = from * ROW_LENGTH; start < to * ROW_LENGTH; start += ROW_LENGTH) {
    for (let counter = 0; counter < COUNTER_NAMES.length; counter++)
      sums[counter] = (sums[counter] ?? 0) + (counters[start + counter] ?? 0);
  }
}
