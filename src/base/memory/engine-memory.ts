/**
 * The shared memory of one engine, made at start and never again: it outlives the thread that works in it, so
 * an engine that is restarted goes on counting where the last one stopped.
 */
import { newCaptureMemory, type CaptureMemory } from './capture-memory.js';
import { ROW_LENGTH } from './port-counters.js';

export const MOST_PORTS = 65_536;
export const MOST_CONNECTIONS = 1_048_576;

export interface EngineMemory {
  /** Int32 words, see CONTROL. */
  readonly control: SharedArrayBuffer;
  /** A row of Float64 a port. */
  readonly portCounters: SharedArrayBuffer;
  /** A Float64 a connection. */
  readonly connectionCounters: SharedArrayBuffer;
  readonly frames: SharedArrayBuffer;
  /** Behind the frames, so that both are one array to the engine. */
  readonly captures: CaptureMemory;
}

export const CONTROL = {
  /** Not 0: the engine is to end after its turn. */
  stop: 0,
  /** Goes up with every turn. */
  heartbeat: 1,
} as const;

/** Pages that nothing was written to cost nothing. */
export function newEngineMemory(frameBytes: number, captureBytes: number): EngineMemory {
  const counter = Float64Array.BYTES_PER_ELEMENT;
  const frames = new SharedArrayBuffer(frameBytes + captureBytes);
  return {
    control: new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT),
    portCounters: new SharedArrayBuffer(MOST_PORTS * ROW_LENGTH * counter),
    connectionCounters: new SharedArrayBuffer(MOST_CONNECTIONS * counter),
    frames,
    captures: newCaptureMemory(frames, frameBytes),
  };
}
