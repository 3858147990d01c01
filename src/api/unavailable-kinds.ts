/** The kinds of node whose programs this server cannot drive: whatever is asked of them is refused with the reason. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { openObject } from '../lab/gns3-file/topology-schema.js';
import { UNAVAILABLE_KINDS } from '../lab/kinds/node-kinds.js';
import { names, nothing } from './schemas.js';

/** The kinds whose virtual machines clients list, to make templates of them. */
const LISTED = ['virtualbox', 'vmware'] as const;

const virtualMachines = z.array(openObject);

export function unavailableKindRoutes({ computes }: Controller): Route[] {
  const refuse = (type: string): never => {
    const kind = UNAVAILABLE_KINDS.find((known) => known.type === type);
    throw refusals.nodeKindUnavailable(kind?.unavailable ?? type);
  };
  return [
    ...UNAVAILABLE_KINDS.map(({ type }) =>
      route({
        method: 'POST',
        path: `/v2/compute/projects/{project_id}/${type}/nodes`,
        tag: 'Compute nodes',
        summary: `Refuse a node of the kind ${type}: this server cannot run it`,
        params: names('project_id'),
        answers: { 201: openObject },
        handle: () => refuse(type),
      }),
    ),
    ...LISTED.flatMap((type) => [
      route({
        method: 'GET',
        path: `/v2/compute/${type}/vms`,
        tag: 'Compute',
        summary: `Refuse the list of virtual machines of ${type}`,
        params: nothing,
        answers: { 200: virtualMachines },
        handle: () => refuse(type),
      }),
      route({
        method: 'GET',
        path: `/v2/computes/{compute_id}/${type}/vms`,
        tag: 'Computes',
        summary: `Refuse the list of virtual machines of ${type} on a compute`,
        params: names('compute_id'),
        answers: { 200: virtualMachines },
        handle: ({ params }) => {
          computes.checkServed(params.compute_id, `GET /${type}/vms`);
          return refuse(type);
        },
      }),
    ]),
  ];
}
