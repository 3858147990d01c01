/** The program of traffic/spray.ts: at a rate it sleeps between its calls, so that it leaves the processor to others. */
import {
  AF_INET,
  CONTROL,
  MESSAGE,
  MSG_DONTWAIT,
  SOCK_DGRAM,
  SOCK_FLAGS,
  SOL_UDP,
  UDP_SEGMENT,
  VECTOR_SIZE,
} from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import { NativeMemory } from '../../src/engine/sockets/linux/native-memory.js';
import { internetAddress } from '../../src/engine/sockets/linux/socket-address.js';
import { TAG, TAG_LENGTH } from './frame-tag.js';
import { monotonicMs } from './monotonic.js';
import { print, readPlan } from './program.js';
import type { SprayPlan } from './spray.js';

const MESSAGES = 64;
const NAME = { pointer: 0, length: 8 } as const;
const ADDRESS_LENGTH = 16;
const CONTROL_SPACE = 24;
const CONTROL_LENGTH = 18;
const NAP_MS = 1;
const LOOPBACK = '127.0.0.1';

const plan = await readPlan<SprayPlan>();
const header = Buffer.from(plan.header, 'hex');
if (plan.size < header.length + TAG_LENGTH) throw new Error(`frames of ${plan.size} octets are too short`);
const flows = plan.toPorts.length;
const octets = plan.segments * plan.size;
const run = (Math.random() * 2 ** 32) >>> 0;

const descriptor = libc.socket(AF_INET, SOCK_DGRAM | SOCK_FLAGS, 0);
const local = internetAddress(LOOPBACK, plan.localPort);
if (libc.bind(descriptor, local, local.length) !== 0) throw new Error(`cannot bind ${plan.localPort}`);

const addresses = new NativeMemory(flows * ADDRESS_LENGTH);
plan.toPorts.forEach((port, flow) => {
  addresses.bytes.set(internetAddress(LOOPBACK, port), flow * ADDRESS_LENGTH);
});
const control = new NativeMemory(CONTROL_SPACE);
control.setLong(0, CONTROL_LENGTH);
control.words[CONTROL.level >> 2] = SOL_UDP;
control.words[CONTROL.type >> 2] = UDP_SEGMENT;
control.words[CONTROL.data >> 2] = plan.size;
const frames = new NativeMemory(Math.ceil((MESSAGES * octets) / 8) * 8);
const view = new DataView(frames.bytes.buffer);
const vectors = new NativeMemory(MESSAGES * VECTOR_SIZE);
const messages = new NativeMemory(MESSAGES * MESSAGE.size);
for (let message = 0; message < MESSAGES; message++) {
  vectors.setLong(message * VECTOR_SIZE, frames.address + message * octets);
  vectors.setLong(message * VECTOR_SIZE + 8, octets);
  const at = message * MESSAGE.size;
  messages.words[(at + NAME.length) >> 2] = ADDRESS_LENGTH;
  messages.setLong(at + MESSAGE.vectorCount, 1);
  if (plan.segments > 1) {
    messages.setLong(at + MESSAGE.controlLength, CONTROL_SPACE);
  }
  for (let frame = 0; frame < plan.segments; frame++) {
    frames.bytes.set(header, message * octets + frame * plan.size);
  }
}

const start = monotonicMs();
const end = start + plan.seconds * 1000;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
let sent = 0;
for (let now = start; now < end; now = monotonicMs()) {
  const due = plan.rate === 0 ? Infinity : (((now - start) / 1000) * plan.rate) / plan.segments - sent;
  if (due >= 1) send(Math.min(MESSAGES, Math.floor(due)), now);
  if (due < MESSAGES) Atomics.wait(sleeper, 0, 0, NAP_MS);
}
print(plan.toPorts.map((_, flow) => Math.ceil((sent - flow) / flows) * plan.segments));

/** Messages of all flows in turn. Those that are not accepted come again. */
function send(count: number, now: number): void {
  for (let message = 0; message < count; message++) {
    const flow = (sent + message) % flows;
    messages.setLong(message * MESSAGE.size + NAME.pointer, addresses.address + flow * ADDRESS_LENGTH);
    // Named where they are used, or they would be collected as garbage: the kernel alone reads them.
    messages.setLong(message * MESSAGE.size + MESSAGE.vectors, vectors.address + message * VECTOR_SIZE);
    if (plan.segments > 1) messages.setLong(message * MESSAGE.size + MESSAGE.control, control.address);
    const first = Math.floor((sent + message) / flows) * plan.segments;
    for (let frame = 0; frame < plan.segments; frame++) {
      const tag = message * octets + frame * plan.size + header.length;
      view.setUint32(tag + TAG.run, run, true);
      view.setUint32(tag + TAG.number, first + frame, true);
      view.setFloat64(tag + TAG.sentAt, now, true);
    }
  }
  sent += Math.max(0, libc.sendmmsg(descriptor, messages.address, count, MSG_DONTWAIT));
}
