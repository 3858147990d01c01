/** This server as a compute: its version, its capabilities, its used ports, and its notifications. */
import { z } from 'zod';
import type { LocalCompute } from '../run/local-compute.js';
import { DIALECT } from '../run/wanted-shapes.js';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import { COMPUTE_PING_AFTER_MS, sendEvents } from '../http/event-stream.js';
import { route, type Route, type SocketRoute } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { nodeType } from '../lab/gns3-file/topology-schema.js';
import { ports } from './computes.js';
import { names, nothing } from './schemas.js';
import { version } from './version.js';

const tag = 'Compute';

const networkInterface = z.strictObject({
  id: z.string(),
  ip_address: z.string(),
  mac_address: z.string(),
  name: z.string(),
  netmask: z.string(),
  special: z.boolean(),
  type: z.enum(['ethernet', 'tap']),
});

export function computeHost(
  controller: Controller,
  compute: LocalCompute,
): { routes: Route[]; sockets: SocketRoute[] } {
  return {
    routes: [
      route({
        method: 'GET',
        path: '/v2/compute/version',
        tag,
        access: 'signed in',
        summary: 'Show the GNS3 version that this compute speaks',
        params: nothing,
        answers: { 200: version },
        handle: () => json(200, { local: controller.isLocal, version: controller.gns3Version }),
      }),
      route({
        method: 'GET',
        path: '/v2/compute/capabilities',
        tag,
        access: { right: 'compute' },
        summary: 'Show which node types this compute can run',
        params: nothing,
        answers: {
          200: z.strictObject({
            node_types: z.array(nodeType),
            platform: z.string(),
            version: z.string(),
            dialect: z.int().optional(),
            tunnel_address: z.string().optional(),
            life: z.string().optional(),
            host: z
              .strictObject({
                memory_mib: z.int(),
                processors: z.int(),
                kvm: z.array(z.string()),
                server: z.string().optional(),
              })
              .optional(),
          }),
        },
        handle: async ({ exchange: { query } }) => {
          if (query === `controller=${controller.computes.mark}`) throw refusals.computeIsSelf();
          const shown = await compute.capabilities();
          // Only a Wirefarm says who it is. Controllers of GNS3 refuse fields that they do not know.
          if (!query.startsWith('controller=')) return json(200, shown);
          const { memoryMib, ...rest } = await compute.host();
          return json(200, {
            ...{
              ...shown,
              dialect: DIALECT,
              life: compute.life,
              tunnel_address: compute.reach.tunnelAddress,
            },
            host: { ...rest, memory_mib: memoryMib, server: controller.server },
          });
        },
      }),
      route({
        method: 'GET',
        path: '/v2/compute/network/ports',
        tag,
        access: { right: 'compute' },
        summary: 'List the port numbers that this compute has given out',
        params: nothing,
        answers: { 200: ports },
        handle: () => json(200, controller.computes.ownPorts),
      }),
      route({
        method: 'GET',
        path: '/v2/compute/network/interfaces',
        tag,
        access: { right: 'compute' },
        summary: 'List the network interfaces of this host',
        params: nothing,
        answers: { 200: z.array(networkInterface) },
        handle: async () => json(200, await compute.interfaces()),
      }),
      route({
        method: 'GET',
        path: '/v2/computes/{compute_id}/network/interfaces',
        tag: 'Computes',
        access: { right: 'computes:read' },
        summary: 'List the network interfaces of the host of a compute',
        params: names('compute_id'),
        answers: { 200: z.array(networkInterface) },
        handle: async ({ params: { compute_id: id } }) => {
          const { computes } = controller;
          return json(
            200,
            computes.isOther(id)
              ? await computes.ask(id, { method: 'GET', path: '/network/interfaces' })
              : await compute.interfaces(),
          );
        },
      }),
    ],
    sockets: [
      {
        path: '/v2/compute/notifications/ws',
        tag,
        access: { right: 'compute' },
        summary: 'Stream the notifications of this compute, one JSON object per frame',
        params: nothing,
        check: () => undefined,
        open: (_params, send) => {
          const source = {
            load: () => controller.load(),
            listen: (listener: (event: string) => void) => compute.channel.subscribe(listener),
          };
          return sendEvents(source, send, COMPUTE_PING_AFTER_MS);
        },
      },
    ],
  };
}
