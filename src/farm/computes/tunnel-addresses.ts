/** The addresses between which the links of two computes lead. */
import { createSocket } from 'node:dgram';
import { isIP } from 'node:net';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { Compute } from '../../lab/other-computes.js';
import { addressesOf } from './name-lookup.js';
import type { TunnelHosts } from './tunnel-hosts.js';

const LOOPBACK = '127.0.0.1';
const ANY_PORT = 9;

interface TunnelAddressesOptions {
  readonly recordOf: (id: string) => Compute | undefined;
  /** The address that a host has for its tunnels; undefined when none is set. */
  readonly tunnelAddressOf: (id: string) => string | undefined;
  readonly hosts: Pick<TunnelHosts, 'lead'>;
}

export class TunnelAddresses {
  readonly #options: TunnelAddressesOptions;

  constructor(options: TunnelAddressesOptions) {
    this.#options = options;
  }

  /** The addresses of two computes, each as the other reaches it. From then on links of each may lead to the other. */
  async between(one: string, other: string): Promise<readonly [string, string]> {
    if (one === other) return [LOOPBACK, LOOPBACK];
    const { hosts } = this.#options;
    const [a, b] = await Promise.all([this.#of(one), this.#of(other)]);
    const [near, far] = await Promise.all([addressTowards(a, b), addressTowards(b, a)]);
    await Promise.all([hosts.lead(one, { to: other, at: far }), hosts.lead(other, { to: one, at: near })]);
    return [near, far];
  }

  /** A host without an address for tunnels is known to itself by its loopback. */
  async #of(id: string): Promise<string> {
    const { recordOf, tunnelAddressOf } = this.#options;
    const own = tunnelAddressOf(id);
    if (own !== undefined) return own;
    const host = recordOf(id)?.host ?? LOOPBACK;
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
