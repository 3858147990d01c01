/** The endless task of an engine's thread: one turn after another, until it is stopped. */
import { LOOP_CONTROL } from '../../base/threads/loop-run.js';
import { obeySome } from '../../base/threads/loop-task.js';
import type { TaskRequest } from '../../base/threads/task.js';
import type { BellListener, Transport } from '../forwarding/transport.js';
import type { Fabric } from '../devices/device.js';
import { Engine } from '../forwarding/engine.js';
import { FrameMemory, FRAMES_LENGTH, SLABS_LENGTH } from '../forwarding/frame-memory.js';
import type { Order } from '../forwarding/orders.js';
import { Outbox } from '../forwarding/port.js';
import { Logs } from '../taps/logs.js';
import type { EngineStart } from './supervised-engine.js';

export async function runEngine({ memory, control, orders, listener }: EngineStart): Promise<void> {
  const words = new Int32Array(control);
  const fabric: Fabric = {
    memory: new FrameMemory(new Uint8Array(memory.frames), SLABS_LENGTH, FRAMES_LENGTH),
    outbox: new Outbox(),
    connectionCounters: new Float64Array(memory.connectionCounters),
    seconds: 0,
  };
  const transport = await openTransport(fabric.memory, listener, () => obeySome(orders, perform));
  const logs = new Logs(memory.captures, fabric.memory);
  const engine = new Engine(fabric, new Float64Array(memory.portCounters), transport, logs);
  const perform = ({ input }: TaskRequest): unknown => carryOut(engine, input as Order);
  try {
    while (Atomics.load(words, LOOP_CONTROL.stop) === 0) {
      Atomics.add(words, LOOP_CONTROL.heartbeat, 1);
      const waiting = engine.turn();
      if (waiting !== undefined) await waiting;
    }
  } finally {
    transport.close();
    orders.close();
  }
}

/** Loads only the transport of this platform: loading the Linux one looks up functions of the C library. */
async function openTransport(
  memory: FrameMemory,
  listener: BellListener,
  onBell: () => boolean,
): Promise<Transport> {
  if ('epoll' in listener) {
    const { LinuxTransport } = await import('../sockets/linux/linux-transport.js');
    return new LinuxTransport(memory, listener, onBell);
  }
  const { PortableTransport } = await import('../sockets/portable/portable-transport.js');
  return new PortableTransport(memory, listener, onBell);
}

function carryOut(engine: Engine, order: Order): unknown {
  const value = engine.perform(order);
  if (!(value instanceof Promise)) return value;
  return value.catch((error: unknown) => {
    // Without its code: that of a socket would be taken for that of a file.
    throw new Error(error instanceof Error ? error.message : String(error));
  });
}
