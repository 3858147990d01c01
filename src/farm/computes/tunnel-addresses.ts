/** The addresses between which the links of two computes lead. */
import { createSocket } from 'node:dgram';
import { isIP } from 'node:net';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { Compute } from '../../lab/other-computes.js';
import { addressesOf } from './name-lookup.js';

const LOOPBACK = '127.0.0.1';
const ANY_PORT = 9;

export class TunnelAddresses {
  readonly #recordOf: (id: string) => Compute | undefined;

  constructor(recordOf: (id: string) => Compute | undefined) {
    this.#recordOf = recordOf;
  }

  /** The addresses of two computes, each as the other reaches it. */
  async between(one: string, other: string): Promise<readonly [string, string]> {
    const [a, b] = await Promise.all([this.#of(one), this.#of(other)]);
    return Promise.all([addressTowards(a, b), addressTowards(b, a)]);
  }

  /** This host is known to itself by its loopback. */
  async #of(id: string): Promise<string> {
    const host = this.#recordOf(id)?.host ?? LOOPBACK;
    if (id === LOCAL_COMPUTE || host === '0.0.0.0') return LOOPBACK;
    if (isIP(host) !== 0) return host;
    const [first] = await addressesOf(host.replace(/^\[|\]$/g, ''));
    return first?.address ?? host;
  }
}

/** The address under which a host is reached from another. A host that is known by its loopback is this one. */
async function addressTowards(own: string, far: string): Promise<string> {
  if (!isLoopback(own) || isLoopback(far)) return own;
  return sourceTowards(far);
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** The address from which this host sends to another. Nothing is sent. */
function sourceTowards(far: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(far.includes(':') ? 'udp6' : 'udp4');
    socket.on('error', (error) => {
      socket.close();
      reject(error);
    });
    socket.connect(ANY_PORT, far, () => {
      const { address } = socket.address();
      socket.close();
      resolve(address);
    });
  });
}
