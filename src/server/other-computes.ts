/** The connections with other computes, made from what the server has. */
import type { Logger } from 'pino';
import { RemoteComputes } from '../farm/computes/remote-computes.js';
import type { Controller } from '../lab/controller.js';
import type { LocalCompute } from '../run/local-compute.js';
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
  const others = new RemoteComputes({ computes, probes: compute.probes, gns3Version, now, log });
  computes.connectBy(others);
  return others;
}
