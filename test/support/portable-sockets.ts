/** The sockets of node:dgram and their transport, which run here for the platforms that need them. */
import { MessagePort } from 'node:worker_threads';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import { PortableTransport } from '../../src/engine/sockets/portable/portable-transport.js';
import type { TransportKind } from './transport-rig.js';

export const portableSockets: TransportKind = {
  sockets: await hostSockets('darwin'),
  newTransport(memory, listener, onBell) {
    if (!(listener instanceof MessagePort)) throw new TypeError('a portable bell is heard at a message port');
    return new PortableTransport(memory, listener, onBell);
  },
};
