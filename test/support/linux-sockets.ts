/** The sockets of Linux and their transport. Can only be imported there. */
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import { LinuxTransport } from '../../src/engine/sockets/linux/linux-transport.js';
import type { TransportKind } from './transport-rig.js';

export const linuxSockets: TransportKind = {
  sockets: await hostSockets('linux'),
  newTransport(memory, listener, onBell) {
    if (!('epoll' in listener)) throw new TypeError('a Linux bell is heard at descriptors');
    return new LinuxTransport(memory, listener, onBell);
  },
};
