/** An engine without sockets: frames are pushed into the port that was attached first, and counted where they leave. */
import {
  CHUNKS_A_LOG,
  LOG,
  LOG_COUNTER,
  LOG_COUNTERS,
  LOG_WORDS,
  newCaptureMemory,
  NO_CHUNK,
  NO_PIN,
  type CaptureMemory,
} from '../../src/base/memory/capture-memory.js';
import { COUNTER, ROW_LENGTH } from '../../src/base/memory/port-counters.js';
import { countSent, Outbox, type Batch } from '../../src/engine/forwarding/port.js';
import type { Fabric } from '../../src/engine/devices/device.js';
import type { PortEndpoint, Transport } from '../../src/engine/forwarding/transport.js';
import { Engine } from '../../src/engine/forwarding/engine.js';
import type { FilterPlan } from '../../src/engine/filters/filter-plan.js';
import { FrameMemory } from '../../src/engine/forwarding/frame-memory.js';
import { Logs } from '../../src/engine/taps/logs.js';

const RECEIVED = 64 * 1024;
const WORKSPACE = 1024 * 1024;
const CAPTURES = 16 * 1024 * 1024;
const MOST_PORTS = 16;
const MOST_CONNECTIONS = 64;

export class MemoryEngine {
  readonly engine: Engine;
  /** Frames that are pushed lie at its start. */
  readonly bytes: Uint8Array;
  /** The engine's clock, in milliseconds. */
  now = 0;
  readonly #counters = new Float64Array(MOST_PORTS * ROW_LENGTH);
  readonly #captures: CaptureMemory;
  readonly #logs: Int32Array[] = [];
  #arrive: ((frames: Batch) => void) | undefined;
  #rows = 0;

  constructor() {
    const shared = new SharedArrayBuffer(RECEIVED + WORKSPACE + CAPTURES);
    this.bytes = new Uint8Array(shared);
    const memory = new FrameMemory(this.bytes, RECEIVED, RECEIVED + WORKSPACE);
    this.#captures = newCaptureMemory(shared, RECEIVED + WORKSPACE);
    const fabric: Fabric = {
      memory,
      outbox: new Outbox(),
      connectionCounters: new Float64Array(MOST_CONNECTIONS),
      seconds: 0,
    };
    const transport: Transport = {
      add: (endpoint, _, onFrames) => {
        this.#arrive ??= onFrames;
        return { endpoint, send: countSent };
      },
      remove: () => undefined,
      drain: () => undefined,
      turn: () => undefined,
      close: () => undefined,
    };
    const logs = new Logs(this.#captures, memory);
    this.engine = new Engine(fabric, this.#counters, transport, logs, () => this.now);
  }

  /** Returns the row of its counters. */
  attach(device: number, port: number, endpoint: PortEndpoint, filters?: FilterPlan): number {
    const row = this.#rows++;
    const policy = { suspended: false, filters };
    this.engine.perform({ do: 'attach', device, attachment: { port, row, endpoint, policy } });
    return row;
  }

  push(frames: Batch): void {
    this.#arrive?.(frames);
  }

  framesOut(row: number): number {
    return this.#counters[row * ROW_LENGTH + COUNTER.frames_out] ?? 0;
  }

  /** Returns its number. */
  openLog(): number {
    const words = new Int32Array(
      this.#captures.words,
      this.#logs.length * LOG_WORDS * Int32Array.BYTES_PER_ELEMENT,
      LOG_WORDS,
    );
    words.fill(NO_CHUNK, LOG.chunks, LOG.chunks + CHUNKS_A_LOG);
    words[LOG.pin] = NO_PIN;
    words[LOG.active] = 1;
    return this.#logs.push(words) - 1;
  }

  /** As if everything had been written to files. */
  drainLogs(): void {
    for (const words of this.#logs) words[LOG.drained] = words[LOG.head] ?? 0;
  }

  /** The sum over all logs. */
  logged(counter: keyof typeof LOG_COUNTER): number {
    const counters = new Float64Array(this.#captures.counters);
    return this.#logs.reduce(
      (sum, _, log) => sum + (counters[log * LOG_COUNTERS + LOG_COUNTER[counter]] ?? 0),
      0,
    );
  }
}
