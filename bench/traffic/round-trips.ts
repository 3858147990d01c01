/**
 * Sends a frame, takes it at the far end, sends one back, and waits for it: one round trip after the other, at a steady
 * rate. Both ends are in one polling thread, so nothing but the path between them waits to be woken. Takes its task as
 * JSON in its only argument, prints the median in microseconds.
 */
import koffi from 'koffi';
import { MSG_DONTWAIT } from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import { LinuxOpener } from '../../src/engine/sockets/linux/linux-opener.js';
import { NativeMemory } from '../../src/engine/sockets/linux/native-memory.js';
import { median } from '../measurement.js';
import { openEnd, type ForwarderPath } from './forwarder-path.js';
import { monotonicMs } from './monotonic.js';
import { pinThread } from './pinning.js';

export interface RoundTrips {
  readonly near: ForwarderPath['in'];
  readonly far: ForwarderPath['in'];
  readonly count: number;
  readonly perSecond: number;
  readonly cpu: number;
}

/** The size of a ping of VPCS: 56 bytes of data. */
const LENGTH = 98;
const ROOM = 4096;
const LOST_AFTER_MS = 200;
const TOLERATED_LOSS = 0.01;
const [NEAR_ADDRESS, FAR_ADDRESS, TYPE] = ['020000000001', '020000000002', '88b5'];

const recv = koffi.load(null).func('int64_t recv(int, uintptr_t, size_t, int)') as (
  fd: number,
  buffer: number,
  length: number,
  flags: number,
) => number;

const task = JSON.parse(process.argv[2] ?? '{}') as RoundTrips;
pinThread(0, task.cpu);
const opener = new LinuxOpener();
const near = openEnd(opener, task.near, false).descriptor;
const far = openEnd(opener, task.far, false).descriptor;
const there = frame(FAR_ADDRESS + NEAR_ADDRESS + TYPE);
const back = frame(NEAR_ADDRESS + FAR_ADDRESS + TYPE);
const received = new NativeMemory(ROOM);

const times: number[] = [];
const startedAt = monotonicMs();
for (let trip = 0; trip < task.count; trip++) {
  while (monotonicMs() < startedAt + (trip / task.perSecond) * 1000);
  const sentAt = monotonicMs();
  if (carry(near, there, far) && carry(far, back, near)) times.push((monotonicMs() - sentAt) * 1000);
  // An answer that comes too late must not pass for the next one.
  else while (arrives(near) || arrives(far));
}
if (times.length < task.count * (1 - TOLERATED_LOSS)) {
  throw new Error(`${task.count - times.length} of ${task.count} round trips were lost`);
}
process.stdout.write(`${median(times)}\n`);

function frame(header: string): NativeMemory {
  const memory = new NativeMemory(ROOM);
  memory.bytes.set(Buffer.from(header, 'hex'));
  return memory;
}

function carry(from: number, { address }: NativeMemory, to: number): boolean {
  libc.send(from, address, LENGTH, MSG_DONTWAIT);
  const giveUpAt = monotonicMs() + LOST_AFTER_MS;
  while (!arrives(to)) if (monotonicMs() > giveUpAt) return false;
  return true;
}

function arrives(descriptor: number): boolean {
  return recv(descriptor, received.address, ROOM, MSG_DONTWAIT) > 0;
}
