/** Containers: the images of their engine, and the names that some clients have for suspending a container. */
import { z } from 'zod';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { docker } from '../lab/kinds/docker.js';
import type { LocalCompute } from '../run/local-compute.js';
import { findNode } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { names, nothing } from './schemas.js';

const tag = 'Images';
const images = z.array(z.strictObject({ image: z.string() }));

export function dockerRoutes({ computes }: Controller, compute: LocalCompute): Route[] {
  const list = async () =>
    json(
      200,
      (await compute.containerImages()).map((image) => ({ image })),
    );
  return [
    route({
      method: 'GET',
      path: '/v2/compute/docker/images',
      tag,
      access: { right: 'images:read' },
      summary: 'List the images of the container engine',
      params: nothing,
      answers: { 200: images },
      handle: list,
    }),
    route({
      method: 'GET',
      path: '/v2/computes/{compute_id}/docker/images',
      tag,
      access: { right: 'images:read' },
      summary: 'List the images of the container engine of a compute',
      params: names('compute_id'),
      answers: { 200: images },
      handle: async ({ params: { compute_id: id } }) => {
        if (!computes.isOther(id)) return list();
        return json(200, await computes.ask(id, { method: 'GET', path: '/docker/images' }));
      },
    }),
    ...(['pause', 'unpause'] as const).map((action) =>
      route({
        method: 'POST',
        path: `${nodesPath(docker)}/{node_id}/${action}`,
        tag: 'Compute nodes',
        access: { right: 'compute' },
        summary: `${action === 'pause' ? 'Suspend' : 'Resume'} ${docker.title}`,
        params: names('project_id', 'node_id'),
        answers: { 204: null },
        handle: async ({ params }) => {
          const node = findNode(compute, docker, params);
          if (action === 'pause') await node.suspend();
          else if (node.status === 'suspended') await node.start();
          return empty(204);
        },
      }),
    ),
  ];
}
