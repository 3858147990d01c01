/** The reach of a server by its settings, and what follows: a password, or the word that none is meant. */
import { BlockList, isIP } from 'node:net';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { isLoopback, loopbackNetworks } from '../base/loopback.js';
import { ConfigError } from './config-error.js';

interface ReachSettings {
  readonly host: string;
  readonly user: string;
  readonly password: string;
  readonly local: boolean;
  readonly 'public-url': URL | undefined;
  readonly 'trusted-proxies': BlockList;
  readonly 'nio-networks': BlockList | 'any' | 'auto';
  readonly 'tunnel-address': string | undefined;
}

/** Whether other hosts can reach the server. */
export function isForOthers(settings: ReachSettings): boolean {
  const { host, 'public-url': url, 'trusted-proxies': proxies } = settings;
  return !isLoopback(host) || url !== undefined || proxies.rules.length > 0;
}

/** Refuses settings that do not go together. Throws ConfigError. */
export function checkReach(settings: ReachSettings): void {
  const { user, password, local, 'tunnel-address': tunnelAddress } = settings;
  if (tunnelAddress !== undefined && !hostAddresses().some(({ address }) => isSame(address, tunnelAddress)))
    throw new ConfigError(
      `--tunnel-address (WIREFARM_TUNNEL_ADDRESS): no interface of this host has the address ${tunnelAddress}`,
    );
  if ((user === '') !== (password === '')) {
    throw new ConfigError(
      'authentication needs both a user (--user) and a password (WIREFARM_PASSWORD, --password-file)',
    );
  }
  if (local && isForOthers(settings)) {
    throw new ConfigError(
      '--local (WIREFARM_LOCAL) lets clients use any file and stop the server: it needs a --host on loopback, ' +
        'without --public-url and --trusted-proxies',
    );
  }
}

interface Guard {
  readonly isForOthers: boolean;
  readonly isOpen: boolean;
  readonly credentials: object | undefined;
}

/** A server that others can reach has accounts, or is meant to have none. Throws ConfigError. */
export function checkGuarded({ isForOthers, isOpen, credentials }: Guard, hasUsers: boolean): void {
  if (!isForOthers || isOpen || hasUsers || credentials !== undefined) return;
  throw new ConfigError(
    'everybody who can reach this server could use it, because it has no users: make an admin (wirefarm user add NAME ' +
      '--admin --data DIR), set --user and WIREFARM_PASSWORD, or --open (WIREFARM_OPEN) if that is meant',
  );
}

/** Anybody who reaches an open server can send from it, so its default is where labs of one host send. */
export function udpNetworks(settings: ReachSettings): BlockList | undefined {
  const { 'nio-networks': given, user } = settings;
  if (given instanceof BlockList) return given;
  if (given === 'any' || user !== '' || !isForOthers(settings)) return undefined;
  const own = loopbackNetworks();
  for (const { address, family } of hostAddresses()) {
    own.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own;
}

function hostAddresses(): NetworkInterfaceInfo[] {
  return Object.values(networkInterfaces()).flatMap((list) => list ?? []);
}

/** An IPv6 address has several spellings. */
function isSame(one: string, other: string): boolean {
  if (isIP(one) !== isIP(other)) return false;
  const list = new BlockList();
  const version = isIP(one) === 6 ? 'ipv6' : 'ipv4';
  list.addAddress(one, version);
  return list.check(other, version);
}
