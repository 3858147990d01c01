import { BlockList, isIP } from 'node:net';

/** Whether only this machine can reach a server that listens on that host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** The addresses that only this machine has. */
export function loopbackNetworks(): BlockList {
  const networks = new BlockList();
  networks.addSubnet('127.0.0.0', 8, 'ipv4');
  networks.addAddress('::1', 'ipv6');
  return networks;
}
