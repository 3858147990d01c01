/** The thread of a packet engine that can be broken, in the ways of ./engine-faults.ts. */
import { workerData } from 'node:worker_threads';
import type { EngineStart } from '../../src/engine/control/supervised-engine.js';
import { runEngine } from '../../src/engine/control/engine-task.js';
import { PortableTransport } from '../../src/engine/sockets/portable/portable-transport.js';
import { Engine } from '../../src/engine/forwarding/engine.js';
import type { Order } from '../../src/engine/forwarding/orders.js';
import { FAULT, STILLBORN } from './engine-faults.js';

if (process.env[STILLBORN] !== undefined) throw new Error('stillborn');

let isFailing = false;

/** Has `first` look at what a method is called with; what it returns is returned instead, if anything is. */
function intercept(prototype: object, name: string, first: (argument: unknown) => unknown): void {
  const method = Reflect.get(prototype, name) as (this: unknown, argument: unknown) => unknown;
  Reflect.set(prototype, name, function (this: unknown, argument: unknown): unknown {
    return first(argument) ?? method.call(this, argument);
  });
}

intercept(Engine.prototype, 'perform', (argument) => {
  const order = argument as Order;
  if (order.do !== 'inspect') return undefined;
  if (order.device === FAULT.spin) for (;;);
  if (order.device === FAULT.exit) process.exit(3);
  if (order.device !== FAULT.fail) return undefined;
  isFailing = true;
  return new Promise(() => undefined);
});

const transports: object[] = [PortableTransport.prototype];
if (process.platform === 'linux') {
  const { LinuxTransport } = await import('../../src/engine/sockets/linux/linux-transport.js');
  transports.push(LinuxTransport.prototype);
}
for (const transport of transports) {
  intercept(transport, 'turn', () => {
    if (!isFailing) return;
    isFailing = false;
    throw new TypeError('out of luck');
  });
}

await runEngine(workerData as EngineStart);
