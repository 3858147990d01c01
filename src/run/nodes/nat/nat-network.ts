/** The network behind a NAT node: that of the bridge of libvirt, whichever way leads out. */
import type { NatNetwork } from '../../../engine/devices/nat-gate.js';

const NETWORK = '192.168.122.0';
const PREFIX = 24;
const ROUTER = '192.168.122.1';
const NAME_SERVER = '192.168.122.3';
const FIRST_LEASE = '192.168.122.10';

/** The bridge of libvirt. */
export const NAT_BRIDGE = 'virbr0';

/** The network in the words of QEMU. */
export const USER_NETWORK = [
  ...['user', 'id=user', `net=${NETWORK}/${PREFIX}`, `host=${ROUTER}`, `dns=${NAME_SERVER}`],
  ...[`dhcpstart=${FIRST_LEASE}`, 'ipv6=off'],
].join(',');

export const NAT_NETWORK: NatNetwork = {
  network: numberOf(NETWORK),
  mask: (0xffff_ffff << (32 - PREFIX)) >>> 0,
  router: numberOf(ROUTER),
  nameServer: numberOf(NAME_SERVER),
};

function numberOf(address: string): number {
  return address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
}
