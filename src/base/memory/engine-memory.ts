/**
 * The shared memory of one engine, allocated once at start. It outlives the engine's thread, so a restarted engine
 * continues counting where the previous one stopped.
 */
import { newCaptureMemory, type CaptureMemory } from './capture-memory.js';
import { ROW_LENGTH } from './port-counters.js';

export const MOST_PORTS = 65_536;
export const MOST_CONNECTIONS = 1_048_576;

export interface EngineMemory {
  /** A row of Float64 per port. */
  readonly portCounters: SharedArrayBuffer;
  /** A Float64 per connection. */
  readonly connectionCounters: SharedArrayBuffer;
  readonly frames: SharedArrayBuffer;
  /** Lies behind the frames in the same buffer, so that the engine has one array for both. */
  readonly captures: CaptureMemory;
}

/** Pages that are never written to cost nothing. */
export function newEngineMemory(frameBytes: number, captureBytes: number): EngineMemory {
  const counter = Float64Array.BYTES_PER_ELEMENT;
  const frames = new SharedArrayBuffer(frameBytes + captureBytes);
  return {
    portCounters: new SharedArrayBuffer(MOST_PORTS * ROW_LENGTH * counter),
    connectionCounters: new SharedArrayBuffer(MOST_CONNECTIONS * counter),
    frames,
    captures: newCaptureMemory(frames, frameBytes),
  };
}
