/** The connections with other computes, made from what the server has. */
import type { Logger } from 'pino';
import { RemoteComputes, type PushedImages } from '../farm/computes/remote-computes.js';
import { ComputeImages } from '../farm/compute-images.js';
import { Placements } from '../farm/placements.js';
import type { ImageLibrary } from '../files/images/image-library.js';
import type { Controller } from '../lab/controller.js';
import type { NodePlacing } from '../lab/node-placing.js';
import type { LocalCompute } from '../run/local-compute.js';
import { UdpReach } from '../run/links/udp-reach.js';
import type { Config } from './config.js';
import type { ServerStore } from './server-store.js';

interface OtherComputesOptions {
  readonly store: ServerStore;
  readonly controller: Controller;
  readonly compute: LocalCompute;
  readonly images: PushedImages;
  readonly config: Config;
  readonly now: () => number;
  readonly log: Logger;
}

/** Call it before the controller starts. */
export function otherComputes({
  store: { member },
  controller,
  compute,
  images,
  config,
  now,
  log,
}: OtherComputesOptions): RemoteComputes {
  const { computes } = controller;
  const { gns3Version } = config;
  const { probes, reach } = compute;
  const others = new RemoteComputes({
    ...{ computes, probes, reach, images, gns3Version, now, log },
    ownAddress: () => member?.place.address,
  });
  computes.connectBy(others);
  return others;
}

interface NodePlacingOptions {
  readonly store: ServerStore;
  readonly controller: Controller;
  readonly compute: LocalCompute;
  readonly images: ImageLibrary;
  readonly others: RemoteComputes;
}

/** Finds places for nodes; undefined where this server shares no farm. */
export function nodePlacing({
  store: { member },
  controller: { computes, projects },
  compute,
  images,
  others,
}: NodePlacingOptions): NodePlacing | undefined {
  if (member === undefined) return undefined;
  return new Placements({
    ...{ own: member.place.id, rooms: member.rooms, computes, projects: projects.all },
    followed: () => member.given(),
    images: new ComputeImages({
      ...{ copies: member.images, servers: () => member.servers, now: () => performance.now() },
      ask: (id, call) => computes.ask(id, call),
    }),
    reachOf: (id) => others.reachOf(id),
    here: {
      nodeTypes: () => compute.nodeTypes(),
      host: () => compute.host(),
      imageNames: async (emulator) =>
        (await images.listHere(emulator)).flatMap(({ filename, path }) => [filename, path]),
    },
  });
}

/** The hosts to which links of this server may lead. */
export function udpReach(
  { nioNetworks: networks, tunnelAddress, credentials }: Config,
  users: { readonly size: number },
): UdpReach {
  const takesHosts = (): boolean => credentials !== undefined || users.size > 0;
  return new UdpReach({ networks, tunnelAddress, takesHosts, now: () => performance.now() });
}
