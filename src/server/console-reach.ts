/**
 * Where consoles of nodes listen, and whom they serve: telnet and VNC ask for no password. A server with users has them on
 * loopback, as far as nobody says otherwise, and one without where it listens itself.
 */
import { BlockList, isIP } from 'node:net';
import { isLoopback, loopbackNetworks } from '../base/loopback.js';
import type { ConsoleClients } from '../operations/doctor/patient.js';
import type { ConsoleReach } from '../run/consoles/console-port.js';
import type { Config } from './config.js';

const LOOPBACK_HOST = '127.0.0.1';
const LOOPBACK = loopbackNetworks();

/** `live` has the settings that count now. */
export function consoleReach(live: { readonly config: Config }, hasUsers: () => boolean): ConsoleReach {
  const isGuarded = (): boolean => live.config.credentials !== undefined || hasUsers();
  return {
    get host() {
      return consoleHostOf(live.config, isGuarded());
    },
    serves: (address) => {
      if (isIn(LOOPBACK, address)) return true;
      const clients = consoleClientsOf(live.config, isGuarded());
      const { consoleNetworks: networks } = live.config;
      return clients === 'everybody' || (networks instanceof BlockList && isIn(networks, address));
    },
  };
}

/** `isGuarded` tells that there are users. */
export function consoleHostOf({ consoleHost, host }: Config, isGuarded: boolean): string {
  return consoleHost ?? (isGuarded && !isLoopback(host) ? LOOPBACK_HOST : host);
}

export function consoleClientsOf(
  { consoleHost, consoleNetworks: networks }: Config,
  isGuarded: boolean,
): ConsoleClients {
  if (networks instanceof BlockList) return 'networks';
  return networks === 'any' || (consoleHost === undefined && !isGuarded) ? 'everybody' : 'this host';
}

/** An IPv4 address that has come as one of IPv6 is found among those of IPv4. */
function isIn(networks: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
