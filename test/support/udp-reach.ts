import type { BlockList } from 'node:net';
import { UdpReach } from '../../src/run/links/udp-reach.js';

/** A reach beyond which nobody names hosts. */
export function udpReach(networks?: BlockList, tunnelAddress?: string): UdpReach {
  return new UdpReach({ networks, tunnelAddress, takesHosts: () => false, now: () => 0 });
}
