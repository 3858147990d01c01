/** The connections with other computes, made from what the server has. */
import type { Logger } from 'pino';
import { RemoteComputes } from '../farm/computes/remote-computes.js';
import type { Controller } from '../lab/controller.js';
import type { LocalCompute } from '../run/local-compute.js';
import { UdpReach } from '../run/links/udp-reach.js';
import type { Config } from './config.js';

interface OtherComputesOptions {
  readonly controller: Controller;
  readonly compute: LocalCompute;
  readonly config: Config;
  readonly now: () => number;
  readonly log: Logger;
}

/** Call it before the controller starts. */
export function otherComputes({
  controller,
  compute,
  config,
  now,
  log,
}: OtherComputesOptions): RemoteComputes {
  const { computes } = controller;
  const { gns3Version } = config;
  const { probes, reach } = compute;
  const others = new RemoteComputes({ computes, probes, reach, gns3Version, now, log });
  computes.connectBy(others);
  return others;
}

/** The hosts to which links of this server may lead. */
export function udpReach(
  { nioNetworks: networks, tunnelAddress, credentials }: Config,
  users: { readonly size: number },
): UdpReach {
  const takesHosts = (): boolean => credentials !== undefined || users.size > 0;
  return new UdpReach({ networks, tunnelAddress, takesHosts, now: () => performance.now() });
}
