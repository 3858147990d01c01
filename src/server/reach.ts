/** The reach of a server by its settings, and what follows: a password, or the word that none is meant. */
import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopback } from '../base/loopback.js';
import { ConfigError } from './config-error.js';

interface ReachSettings {
  readonly host: string;
  readonly user: string;
  readonly password: string;
  readonly local: boolean;
  readonly open: boolean;
  readonly 'public-url': URL | undefined;
  readonly 'trusted-proxies': BlockList;
  readonly 'nio-networks': BlockList | 'any' | 'auto';
}

/** The reason why other hosts can reach the server; undefined when only this one can. */
function wayIn({ host, 'public-url': url, 'trusted-proxies': proxies }: ReachSettings): string | undefined {
  if (!isLoopback(host)) return host;
  if (url !== undefined) return url.origin;
  return proxies.rules.length === 0 ? undefined : 'a trusted proxy';
}

export function isForOthers(settings: ReachSettings): boolean {
  return wayIn(settings) !== undefined;
}

/** A server that others can reach has a password, or is meant to have none. Throws ConfigError. */
export function checkReach(settings: ReachSettings): void {
  const { user, password, local, open } = settings;
  if ((user === '') !== (password === '')) {
    throw new ConfigError('authentication needs both a user (--user) and a password (WIREFARM_PASSWORD)');
  }
  const way = wayIn(settings);
  if (way === undefined) return;
  if (local) {
    throw new ConfigError(
      '--local (WIREFARM_LOCAL) lets clients use any file and stop the server: it needs a --host on loopback, ' +
        'without --public-url and --trusted-proxies',
    );
  }
  if (user === '' && !open) {
    throw new ConfigError(
      `everybody who can reach ${way} could use this server: set --user and WIREFARM_PASSWORD, ` +
        'or --open (WIREFARM_OPEN) if that is meant',
    );
  }
}

/** Anybody who reaches an open server can send from it, so its default is where labs of one host send. */
export function udpNetworks(settings: ReachSettings): BlockList | undefined {
  const { 'nio-networks': given, user } = settings;
  if (given instanceof BlockList) return given;
  if (given === 'any' || user !== '' || !isForOthers(settings)) return undefined;
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8, 'ipv4');
  own.addAddress('::1', 'ipv6');
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((list) => list ?? [])) {
    own.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own;
}
