/** Both kinds of sockets and their transports. Those of node:dgram run here for the platforms that need them. */
import { MessagePort } from 'node:worker_threads';
import { hostSockets } from '../../src/sockets/host-sockets.js';
import { LinuxTransport } from '../../src/sockets/linux/linux-transport.js';
import { PortableTransport } from '../../src/sockets/portable/portable-transport.js';
import type { TransportKind } from './transport-rig.js';

export const linuxSockets: TransportKind = {
  sockets: await hostSockets('linux'),
  newTransport(memory, ear, onBell) {
    if (!('epoll' in ear)) throw new TypeError('a Linux bell is heard at descriptors');
    return new LinuxTransport(memory, ear, onBell);
  },
};

export const portableSockets: TransportKind = {
  sockets: await hostSockets('darwin'),
  newTransport(memory, ear, onBell) {
    if (!(ear instanceof MessagePort)) throw new TypeError('a portable bell is heard at a message port');
    return new PortableTransport(memory, ear, onBell);
  },
};
