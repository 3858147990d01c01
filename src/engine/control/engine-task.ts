/** The endless task of an engine's thread: one turn after another, until it is stopped. */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { CONTROL } from '../../base/memory/engine-memory.js';
import type { BellListener, Transport } from '../forwarding/transport.js';
import type { Fabric } from '../devices/device.js';
import { Engine } from '../forwarding/engine.js';
import { FrameMemory, FRAMES_LENGTH, SLABS_LENGTH } from '../forwarding/frame-memory.js';
import type { NumberedOrder, OrderAnswer } from '../forwarding/orders.js';
import { Outbox } from '../forwarding/port.js';
import { Logs } from '../taps/logs.js';
import type { EngineStart } from './supervised-engine.js';

/** Frames wait while orders are carried out, so only a few are carried out at a time. */
const ORDERS_A_TURN = 16;

export async function runEngine({ memory, orders, listener }: EngineStart): Promise<void> {
  const control = new Int32Array(memory.control);
  const fabric: Fabric = {
    memory: new FrameMemory(new Uint8Array(memory.frames), SLABS_LENGTH, FRAMES_LENGTH),
    outbox: new Outbox(),
    connectionCounters: new Float64Array(memory.connectionCounters),
    seconds: 0,
  };
  const transport = await openTransport(fabric.memory, listener, () => obeySome(orders, engine));
  const logs = new Logs(memory.captures, fabric.memory);
  const engine = new Engine(fabric, new Float64Array(memory.portCounters), transport, logs);
  try {
    while (Atomics.load(control, CONTROL.stop) === 0) {
      Atomics.add(control, CONTROL.heartbeat, 1);
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

/** Carries out some of the waiting orders; returns whether none is left. */
function obeySome(orders: MessagePort, engine: Engine): boolean {
  for (let done = 0; done < ORDERS_A_TURN; done++) {
    const received = receiveMessageOnPort(orders) as { message: NumberedOrder } | undefined;
    if (received === undefined) return true;
    obey(orders, engine, received.message);
  }
  return false;
}

function obey(orders: MessagePort, engine: Engine, { number, order }: NumberedOrder): void {
  const answer = (message: OrderAnswer): void => {
    orders.postMessage(message);
  };
  const fail = (error: unknown): void => {
    answer({ number, failure: error instanceof Error ? error.message : String(error) });
  };
  try {
    const value = engine.perform(order);
    if (value instanceof Promise)
      value.then((result: unknown) => {
        answer({ number, value: result });
      }, fail);
    else answer({ number, value });
  } catch (error) {
    fail(error);
  }
}
