/** Two ATM switches in one engine, linked: cells move from one to the other by reference. */
import { Engine } from '../src/switching/engine.js';
import { Batch, BATCH_FRAMES } from '../src/switching/batch.js';
import type { AtmConnection } from '../src/switching/atm-switch.js';
import type { Endpoint } from '../src/switching/endpoint.js';
import type { Fabric } from '../src/switching/device.js';
import { FrameMemory } from '../src/switching/frame-memory.js';
import { Outbox } from '../src/switching/outbox.js';
import { countSent } from '../src/switching/port.js';
import type { Transport } from '../src/switching/transport.js';
import { COUNTER, ROW_LENGTH } from '../src/memory/port-counters.js';
import { CELL_LENGTH, HEC_OFFSET, headerOf, hecOf } from '../src/wire/atm-cell.js';
import { figure, type Bench } from './measurement.js';

const ROUNDS = 5;
const CELLS_A_ROUND = 20_000_000;
const LABELS = [100, 101, 102, 103];
const CELLS_OF_A_LABEL = 16;

export const fused: Bench = {
  name: 'fused',
  run() {
    const { push, carried } = twoSwitches();
    const rates: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const before = carried();
      const start = performance.now();
      for (let cells = 0; cells < CELLS_A_ROUND; cells += BATCH_FRAMES) push();
      const seconds = (performance.now() - start) / 1000;
      // The first round warms up.
      if (round > 0) rates.push((carried() - before) / seconds);
    }
    return Promise.resolve([
      figure('cells through two fused switches, one core', 'cells/s', rates, 'at least 20 million'),
    ]);
  },
};

/** Port 1 of the first switch to port 2 of the second; each moves every label up by one. */
function twoSwitches(): { push: () => void; carried: () => number } {
  const bytes = new Uint8Array(BATCH_FRAMES * CELL_LENGTH + 1024);
  const counters = new Float64Array(4 * ROW_LENGTH);
  const fabric: Fabric = {
    memory: new FrameMemory(bytes, BATCH_FRAMES * CELL_LENGTH),
    outbox: new Outbox(),
    connectionCounters: new Float64Array(64),
    seconds: 0,
  };
  let arrive: ((frames: Batch) => void) | undefined;
  const transport: Transport = {
    add: (endpoint, _, onFrames) => {
      arrive ??= onFrames;
      return { endpoint, send: countSent };
    },
    remove: () => undefined,
    drain: () => undefined,
    turn: () => undefined,
    close: () => undefined,
  };
  const engine = new Engine(fabric, counters, transport);
  const connections = (by: number): AtmConnection[] =>
    LABELS.map((vci, index) => ({
      port: 1,
      vpi: 1,
      vci: vci + by,
      toPort: 2,
      toVpi: 1,
      toVci: vci + by + 1,
      counter: by * LABELS.length + index,
    }));
  for (const device of [0, 1]) {
    const settings = { connections: connections(device), refusesBadHec: false };
    engine.perform({ do: 'add', device, design: { kind: 'atm_switch', settings } });
  }
  const attach = (device: number, port: number, row: number, endpoint: Endpoint): void => {
    engine.perform({ do: 'attach', device, attachment: { port, row, endpoint, suspended: false } });
  };
  attach(0, 1, 0, { type: 'null' });
  attach(0, 2, 1, { type: 'udp', descriptor: -1, local: 'a', remote: 'b' });
  attach(1, 1, 2, { type: 'udp', descriptor: -1, local: 'b', remote: 'a' });
  attach(1, 2, 3, { type: 'null' });
  const { cells, batch } = cellsOfAllLabels();
  return {
    push: () => {
      // The switches write into the cells, so every batch begins with fresh ones.
      bytes.set(cells);
      arrive?.(batch);
    },
    carried: () => counters[3 * ROW_LENGTH + COUNTER.frames_out] ?? 0,
  };
}

function cellsOfAllLabels(): { cells: Uint8Array; batch: Batch } {
  const cells = new Uint8Array(BATCH_FRAMES * CELL_LENGTH);
  const view = new DataView(cells.buffer);
  const batch = new Batch();
  for (let cell = 0; cell < BATCH_FRAMES; cell++) {
    const label = LABELS[Math.floor(cell / CELLS_OF_A_LABEL) % LABELS.length] ?? 0;
    const header = headerOf(1, label);
    const offset = cell * CELL_LENGTH;
    view.setUint32(offset, header);
    cells[offset + HEC_OFFSET] = hecOf(header);
    batch.add(offset, CELL_LENGTH);
  }
  return { cells, batch };
}
