/** The opener of platforms where engines open their UDP sockets themselves. It opens nothing, and allows only UDP. */
import { createSocket } from 'node:dgram';
import type { PortEndpoint } from '../../forwarding/transport.js';
import { OpenError, RECEIVE_BUFFER, type Attachable, type Opener } from '../opener.js';

export class PortableOpener implements Opener {
  open(wanted: Attachable): PortEndpoint {
    if (wanted.type === 'null') return wanted;
    if (wanted.type !== 'udp') throw new OpenError(`not to be had on ${process.platform}: it needs Linux`);
    const { localHost, localPort, remoteHost, remotePort } = wanted;
    return {
      ...wanted,
      type: 'udp-address',
      local: `${localHost}:${localPort}`,
      remote: `${remoteHost}:${remotePort}`,
    };
  }

  close(): void {
    // The engine closes what it has opened.
  }

  setCarrier(): void {
    throw new OpenError(`there are no TAPs on ${process.platform}`);
  }

  /** No guest can be attached. */
  guestFault(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  isFree(port: number): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createSocket('udp4');
      socket.once('error', () => {
        socket.close();
        resolve(false);
      });
      socket.bind({ port, address: '0.0.0.0', exclusive: true }, () => {
        socket.close();
        resolve(true);
      });
    });
  }

  grantedBuffer(): Promise<number> {
    return new Promise((resolve, reject) => {
      const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BUFFER });
      socket.once('error', reject);
      socket.bind(0, '127.0.0.1', () => {
        resolve(socket.getRecvBufferSize());
        socket.close();
      });
    });
  }

  /** Not known on these platforms. */
  lost(): number {
    return 0;
  }
}
