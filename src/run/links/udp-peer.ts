/** Resolves the far end of a UDP attachment, and refuses addresses that must not be sent to. */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { refusals } from '../../base/errors/errors.js';
import type { Attachable } from '../../engine/sockets/opener.js';
import type { NioUdp } from './nio.js';
import type { UdpReach } from './udp-reach.js';

type UdpAttachable = Extract<Attachable, { readonly type: 'udp' }>;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Addresses that belong to no host, or to more than one. */
const NOT_A_PEER = new BlockList();
NOT_A_PEER.addSubnet('0.0.0.0', 8, 'ipv4');
NOT_A_PEER.addSubnet('224.0.0.0', 4, 'ipv4');
NOT_A_PEER.addAddress('255.255.255.255', 'ipv4');
NOT_A_PEER.addAddress('::', 'ipv6');
NOT_A_PEER.addSubnet('ff00::', 8, 'ipv6');

/** IPv4 addresses written as IPv6. */
const MAPPED = new BlockList();
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6');

/** The sockets of a UDP attachment. Refuses (409) a peer that cannot or must not be reached. */
export async function udpAttachable(given: NioUdp, reach: UdpReach): Promise<UdpAttachable> {
  const { lport, rhost, rport, isTunnel } = given;
  const fail = (reason: string): never => {
    throw refusals.udpNotConnected(rhost, rport, reason);
  };
  const address = await addressOf(rhost, fail);
  const version = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (address.includes('%')) return fail('an address with a zone cannot be used');
  if (version === 'ipv6' && MAPPED.check(address, version)) return fail('write this address as IPv4');
  if (NOT_A_PEER.check(address, version)) return fail(`${address} is not the address of one host`);
  if (!reach.allows(address)) {
    return fail(`${address} is outside of the networks that this server is allowed to reach`);
  }
  const isHere = LOOPBACK.check(address, version);
  const own = isTunnel && !isHere ? reach.tunnelAddress : undefined;
  if (own !== undefined && isIP(own) !== isIP(address))
    return fail(`${address} cannot be reached from the tunnel address ${own} of this host`);
  return {
    type: 'udp',
    localHost: own ?? localHost(version, isHere),
    localPort: lport,
    remoteHost: address,
    remotePort: rport,
  };
}

/** An attachment that leads to this host is bound so that no other host can send to it. */
function localHost(version: 'ipv4' | 'ipv6', isLoopback: boolean): string {
  if (version === 'ipv6') return isLoopback ? '::1' : '::';
  return isLoopback ? '127.0.0.1' : '0.0.0.0';
}

async function addressOf(host: string, fail: (reason: string) => never): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host, { verbatim: false })).address;
  } catch (error) {
    return fail(error instanceof Error ? error.message : 'the name cannot be resolved');
  }
}
