/**
 * The hosts that UDP links of this one may lead to: the networks of the settings, and the other hosts of the farm, which controllers
 * name as long as they have them. And the address of this host between hosts.
 */
import { isIP, type BlockList } from 'node:net';
import { refusals } from '../../base/errors/errors.js';

/** The hosts that a controller has named are forgotten when it does not name them again in this time. */
const NAMED_FOR_MS = 120_000;
const MOST_CONTROLLERS = 64;

interface UdpReachOptions {
  /** The networks of the settings; undefined allows all. */
  readonly networks: BlockList | undefined;
  /** The address at which the ends of links between hosts are; undefined leaves it to the kernel. */
  readonly tunnelAddress: string | undefined;
  /** Whether controllers may name hosts. Where nobody signs in, everybody could. */
  readonly takesHosts: () => boolean;
  readonly now: () => number;
}

interface NamedHosts {
  readonly addresses: ReadonlySet<string>;
  readonly until: number;
}

export class UdpReach {
  readonly #options: UdpReachOptions;
  readonly #named = new Map<string, NamedHosts>();
  #own: ReadonlySet<string> = new Set();

  constructor(options: UdpReachOptions) {
    this.#options = options;
  }

  get tunnelAddress(): string | undefined {
    return this.#options.tunnelAddress;
  }

  allows(address: string): boolean {
    const { networks } = this.#options;
    if (networks === undefined) return true;
    return networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') || this.#isNamed(address);
  }

  /** The other hosts that the controller of this server has. */
  leadsTo(addresses: readonly string[]): void {
    this.#own = new Set(addresses);
  }

  /** The other hosts that a controller elsewhere has, in the place of those that it named before. */
  name(controller: string, addresses: readonly string[]): void {
    if (!this.#options.takesHosts()) throw refusals.hostsNotTaken();
    this.#forgetOld();
    if (!this.#named.has(controller) && this.#named.size >= MOST_CONTROLLERS)
      throw refusals.tooMany('controllers', MOST_CONTROLLERS);
    const until = this.#options.now() + NAMED_FOR_MS;
    this.#named.set(controller, { addresses: new Set(addresses), until });
  }

  #isNamed(address: string): boolean {
    if (this.#own.has(address)) return true;
    this.#forgetOld();
    return [...this.#named.values()].some(({ addresses }) => addresses.has(address));
  }

  #forgetOld(): void {
    const now = this.#options.now();
    for (const [controller, { until }] of this.#named) if (until <= now) this.#named.delete(controller);
  }
}
