/** Between which sockets a forwarder under measurement forwards, given as JSON in its only argument. */
import { SOL_UDP, UDP_GRO } from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import type { Opener } from '../../src/engine/sockets/opener.js';
import type { OpenEndpoint } from '../../src/engine/forwarding/transport.js';

export interface ForwarderPath {
  readonly kind: 'atm_switch' | 'ethernet_switch';
  readonly in: { readonly local: number; readonly remote: number };
  readonly out: { readonly local: number; readonly remote: number };
  /** Whether runs may arrive as runs, as they do from another engine only. */
  readonly gathers: boolean;
  /** For two nodes in the place of one switch: what they are linked with. */
  readonly between?: 'link' | 'switch';
}

export function readPath(): ForwarderPath {
  return JSON.parse(process.argv[2] ?? '{}') as ForwarderPath;
}

export function openEnd(
  opener: Opener,
  { local, remote }: ForwarderPath['in'],
  gathers: boolean,
): OpenEndpoint {
  const endpoint = opener.open({
    type: 'udp',
    localHost: '127.0.0.1',
    localPort: local,
    remoteHost: '127.0.0.1',
    remotePort: remote,
  });
  if (endpoint.type !== 'udp') throw new Error('this bench needs Linux');
  if (!gathers) libc.setsockopt(endpoint.descriptor, SOL_UDP, UDP_GRO, Buffer.alloc(4), 4);
  return endpoint;
}
