/** UDP sockets whose datagrams the kernel neither cuts into pieces nor lets routers cut, and what a route promises. */
import { OpenError } from '../opener.js';
import { AF_INET, AF_INET6, SOCK_DGRAM, SOCK_FLAGS } from './constants.js';
import { libc } from './libc.js';
import { internetAddress } from './socket-address.js';

const IPV4 = { level: 0, discover: 10, mtu: 14 } as const;
const IPV6 = { level: 41, discover: 23, mtu: 24 } as const;
/** Sets the bit "don't fragment", and does not mind the MTU of the path that the kernel believes in. */
const PMTUDISC_PROBE = 3;
/** Any other port does as well: nothing is sent. */
const DISCARD_PORT = 9;

/** Returns the descriptor. Throws OpenError. */
export function openUncut(host: string, port: number): number {
  const local = internetAddress(host, port);
  return preparedSocket(local, (descriptor, { level, discover }) => {
    const wanted = Buffer.alloc(4);
    wanted.writeInt32LE(PMTUDISC_PROBE);
    if (libc.setsockopt(descriptor, level, discover, wanted, wanted.length) !== 0) return false;
    return libc.bind(descriptor, local, local.length) === 0;
  });
}

/** The MTU towards a host, as far as this one knows; undefined without a route. */
export function routeMtu(host: string): number | undefined {
  const remote = internetAddress(host, DISCARD_PORT);
  const found = Buffer.alloc(4);
  try {
    const descriptor = preparedSocket(remote, (socket, { level, mtu }) => {
      if (libc.connect(socket, remote, remote.length) !== 0) return false;
      return libc.getsockopt(socket, level, mtu, found, Uint32Array.of(found.length)) === 0;
    });
    libc.close(descriptor);
    return found.readInt32LE();
  } catch (error) {
    if (error instanceof OpenError) return undefined;
    throw error;
  }
}

/** The descriptor of a new socket of the family of the address; `prepare` tells whether it can be used. Throws OpenError. */
function preparedSocket(
  { length }: Uint8Array,
  prepare: (descriptor: number, family: typeof IPV4 | typeof IPV6) => boolean,
): number {
  const isIPv4 = length === 16;
  const descriptor = libc.socket(isIPv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_FLAGS, 0);
  if (descriptor >= 0 && prepare(descriptor, isIPv4 ? IPV4 : IPV6)) return descriptor;
  if (descriptor >= 0) libc.close(descriptor);
  throw new OpenError('a UDP socket could not be opened');
}
