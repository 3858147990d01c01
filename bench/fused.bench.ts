/**
 * Two ATM switches in one engine, linked: cells move from one to the other by reference. Once as they are, and with a
 * filter each way and a tap at every port; the logs are drained between turns, without a file.
 */
import type { AtmConnection } from '../src/engine/devices/atm-switch.js';
import { Batch, BATCH_FRAMES } from '../src/engine/forwarding/port.js';
import type { PortEndpoint } from '../src/engine/forwarding/transport.js';
import type { FilterStage } from '../src/engine/filters/filter-plan.js';
import type { TapPlan } from '../src/engine/taps/tap-plan.js';
import { AAL5_TRAILER_LENGTH, CELL_PAYLOAD_LENGTH } from '../src/engine/wire/aal5.js';
import { CELL_LENGTH, HEC_OFFSET, headerOf, hecOf } from '../src/engine/wire/atm-cell.js';
import { crc32, CRC32_START } from '../src/engine/wire/crc32.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { MemoryEngine } from './traffic/memory-engine.js';

const ROUNDS = 5;
const CELLS_A_ROUND = 20_000_000;
const LABELS = [100, 101, 102, 103];
/** The cells of one AAL5 frame, which come one after the other for a label. */
const CELLS_OF_A_FRAME = 16;
/** In the payload type, this marks the last cell of an AAL5 frame. */
const LAST = 2;
const NEAR_END: PortEndpoint = { type: 'udp', descriptor: -1, local: 'a', remote: 'b' };
const FAR_END: PortEndpoint = { type: 'udp', descriptor: -1, local: 'b', remote: 'a' };
const NOWHERE: PortEndpoint = { type: 'null' };
const FILTERS: readonly FilterStage[] = [{ type: 'frequency_drop', every: 32_767 }];

interface Variant {
  readonly name: string;
  readonly aim: string;
  /** The packets that are recorded at every port, behind filters; undefined is no taps and no filters. */
  readonly packets?: TapPlan['packets'];
}

const VARIANTS: readonly Variant[] = [
  { name: 'cells through two fused switches, one core', aim: 'at least 20 million' },
  { name: 'the same, filtered and tapped as AAL5 frames', aim: 'at least 5 million', packets: 'aal5' },
  { name: 'the same, filtered and tapped as cells', aim: 'at least 5 million', packets: 'cells' },
];

export const fused: Bench = {
  name: 'fused',
  run() {
    return Promise.resolve(VARIANTS.map(measure));
  },
};

function measure(variant: Variant): Figure {
  const { push, carried, check } = twoSwitches(variant);
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const before = carried();
    const start = performance.now();
    for (let cells = 0; cells < CELLS_A_ROUND; cells += BATCH_FRAMES) push();
    const seconds = (performance.now() - start) / 1000;
    // The first round warms up.
    if (round > 0) rates.push((carried() - before) / seconds);
  }
  check();
  return figure(variant.name, 'cells/s', rates, variant.aim);
}

/** Port 1 of the first switch to port 2 of the second; each moves every label up by one. */
function twoSwitches({ packets }: Variant): { push: () => void; carried: () => number; check: () => void } {
  const memory = new MemoryEngine();
  for (const device of [0, 1]) {
    const settings = { connections: connections(device), refusesBadHec: false };
    memory.engine.perform({ do: 'add', device, settings: { kind: 'atm_switch', settings } });
  }
  const plan = packets === undefined ? undefined : { seed: 1, outward: FILTERS, inward: FILTERS };
  memory.attach(0, 1, NOWHERE, plan);
  memory.attach(0, 2, NEAR_END, plan);
  memory.attach(1, 1, FAR_END, plan);
  const last = memory.attach(1, 2, NOWHERE, plan);
  if (packets !== undefined) {
    for (const device of [0, 1]) {
      for (const port of [1, 2]) {
        const tap = { port, tap: 0, plan: tapPlan(memory.openLog(), packets) };
        memory.engine.perform({ do: 'tap', device, tap });
      }
    }
  }
  const { cells, batch } = cellsOfAllLabels();
  const pushed = new Batch();
  return {
    push: () => {
      // Switches write into the cells and filters into the batch, so every turn begins with fresh ones.
      memory.bytes.set(cells);
      pushed.offsets.set(batch.offsets);
      pushed.lengths.set(batch.lengths);
      pushed.count = batch.count;
      memory.push(pushed);
      memory.drainLogs();
    },
    carried: () => memory.framesOut(last),
    check: () => {
      const [kept, dropped] = [memory.logged('packets'), memory.logged('dropped')];
      if (dropped > 0 || kept > 0 !== (packets !== undefined)) {
        throw new Error(`the taps recorded ${kept} packets and dropped ${dropped}`);
      }
    },
  };
}

function connections(by: number): AtmConnection[] {
  return LABELS.map((vci, index) => ({
    port: 1,
    vpi: 1,
    vci: vci + by,
    toPort: 2,
    toVpi: 1,
    toVci: vci + by + 1,
    counter: by * LABELS.length + index,
  }));
}

function tapPlan(log: number, packets: TapPlan['packets']): TapPlan {
  return {
    log,
    format: 'pcap',
    packets,
    opening: undefined,
    snaplen: 65_536,
    direction: 'both',
    sample: 1,
    bpf: undefined,
    maxPackets: 0,
    maxOctets: 0,
  };
}

function cellsOfAllLabels(): { cells: Uint8Array; batch: Batch } {
  const cells = new Uint8Array(BATCH_FRAMES * CELL_LENGTH);
  const view = new DataView(cells.buffer);
  const batch = new Batch();
  const payload = aal5Frame();
  for (let cell = 0; cell < BATCH_FRAMES; cell++) {
    const label = LABELS[Math.floor(cell / CELLS_OF_A_FRAME) % LABELS.length] ?? 0;
    const place = cell % CELLS_OF_A_FRAME;
    const header = headerOf(1, label) | (place === CELLS_OF_A_FRAME - 1 ? LAST : 0);
    const offset = cell * CELL_LENGTH;
    view.setUint32(offset, header);
    cells[offset + HEC_OFFSET] = hecOf(header);
    const part = payload.subarray(place * CELL_PAYLOAD_LENGTH, (place + 1) * CELL_PAYLOAD_LENGTH);
    cells.set(part, offset + HEC_OFFSET + 1);
    batch.add(offset, CELL_LENGTH);
  }
  return { cells, batch };
}

/** With its trailer, and nothing wrong with it. */
function aal5Frame(): Uint8Array {
  const length = CELLS_OF_A_FRAME * CELL_PAYLOAD_LENGTH;
  const view = new DataView(new ArrayBuffer(length));
  view.setUint16(length - 6, length - AAL5_TRAILER_LENGTH);
  view.setInt32(length - 4, ~crc32(CRC32_START, view, 0, length - 4));
  return new Uint8Array(view.buffer);
}
