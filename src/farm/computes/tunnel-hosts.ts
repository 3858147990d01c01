/**
 * The hosts between which links lead, told to each Wirefarm that has an end: so it need not allow whole networks. A host that is
 * deleted is allowed no more. Computes forget what they are not told again, as when this server is gone.
 */
import type { Logger } from 'pino';
import { messageOf } from '../../base/errors/errors.js';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { UdpReach } from '../../run/links/udp-reach.js';

const AGAIN_AFTER_MS = 30_000;

interface TunnelHostsOptions {
  /** The hosts that links of this server lead to. */
  readonly here: Pick<UdpReach, 'leadsTo'>;
  /** Whether a compute can be told, and understands it. */
  readonly isTold: (id: string) => boolean;
  readonly tell: (id: string, addresses: readonly string[]) => Promise<unknown>;
  readonly log: Logger;
}

export class TunnelHosts {
  readonly #options: TunnelHostsOptions;
  /** For each compute the addresses of others, by their ids. */
  readonly #led = new Map<string, Map<string, string>>();
  /** The last word to each compute. */
  readonly #told = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: TunnelHostsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      for (const id of this.#led.keys()) if (id !== LOCAL_COMPUTE) void this.#tell(id);
    }, AGAIN_AFTER_MS);
    this.#timer.unref();
  }

  /** Lets links of a compute lead to another one at this address. Resolves when it has been told, or cannot be. */
  async lead(id: string, { to, at }: { readonly to: string; readonly at: string }): Promise<void> {
    const led = this.#led.get(id) ?? new Map<string, string>();
    this.#led.set(id, led);
    if (led.get(to) === at) return this.#told.get(id);
    led.set(to, at);
    await this.#tell(id);
  }

  /** Tells a compute that is connected anew. Never rejects. */
  async connected(id: string): Promise<void> {
    if (this.#led.has(id)) await this.#tell(id);
  }

  /** Links lead to the host of a compute no more, unless it is named again. */
  forget(id: string): void {
    this.#led.delete(id);
    for (const [other, led] of this.#led) if (led.delete(id)) void this.#tell(other);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tell(id: string): Promise<void> {
    const { here, isTold, tell, log } = this.#options;
    const addresses = (): string[] => [...new Set(this.#led.get(id)?.values() ?? [])];
    if (id === LOCAL_COMPUTE) here.leadsTo(addresses());
    const told = (this.#told.get(id) ?? Promise.resolve()).then(async () => {
      if (id === LOCAL_COMPUTE || !isTold(id)) return;
      await tell(id, addresses()).catch((error: unknown) => {
        log.info({ compute: id, reason: messageOf(error) }, 'a compute was not told the hosts of its links');
      });
    });
    this.#told.set(id, told);
    return told;
  }
}
