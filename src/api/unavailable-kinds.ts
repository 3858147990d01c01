/**
 * The kinds of node whose programs this server cannot drive. A node of theirs is refused with the reason, so that none is
 * ever found.
 */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { route, socketRoute, type Method, type Route, type SocketRoute } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { openObject } from '../lab/gns3-file/topology-schema.js';
import { UNAVAILABLE_KINDS } from '../lab/kinds/node-kinds.js';
import type { LocalCompute } from '../run/local-compute.js';
import { checkId, findProject } from './compute-ids.js';
import { names, nothing } from './schemas.js';

const tag = 'Compute nodes';

/** The kinds whose virtual machines clients list, to make templates of them. */
const LISTED = ['virtualbox', 'vmware'] as const;

const virtualMachines = z.array(openObject);

const PORT = '/adapters/{adapter_number}/ports/{port_number}';
/** Requests to a node that is there. */
const REQUESTS: readonly (readonly [Method, path: string])[] = [
  ...(['GET', 'PUT', 'DELETE'] as const).map((method) => [method, ''] as const),
  ...(['POST', 'PUT', 'DELETE'] as const).map((method) => [method, `${PORT}/nio`] as const),
  ['GET', `${PORT}/pcap`],
  ...[
    ...[`${PORT}/start_capture`, `${PORT}/stop_capture`, '/console/reset', '/duplicate', '/interfaces/vmnet'],
    ...['/start', '/stop', '/suspend', '/resume', '/reload'],
  ].map((path) => ['POST', path] as const),
];

interface UnavailableKinds {
  readonly routes: Route[];
  readonly sockets: SocketRoute[];
}

export function unavailableKindRoutes(controller: Controller, compute: LocalCompute): UnavailableKinds {
  const findNone = (path: NodePath): never => {
    findProject(compute, path.project_id);
    checkId('Node', path.node_id);
    throw refusals.nodeUnknown(path.node_id);
  };
  return {
    routes: [
      ...refusingRoutes(controller),
      ...UNAVAILABLE_KINDS.flatMap(({ type }) =>
        REQUESTS.map(([method, path]) =>
          route({
            method,
            path: `${nodeOf(type)}${path}`,
            tag,
            access: { right: 'compute' },
            summary: `Find no node of the kind ${type}: this server cannot run it`,
            params: path.startsWith(PORT)
              ? names('project_id', 'node_id', 'adapter_number', 'port_number')
              : names('project_id', 'node_id'),
            answers: { 200: openObject },
            handle: ({ params }) => findNone(params),
          }),
        ),
      ),
    ],
    sockets: UNAVAILABLE_KINDS.map(({ type }) =>
      socketRoute({
        path: `${nodeOf(type)}/console/ws`,
        tag,
        access: { right: 'compute' },
        summary: `Find no node of the kind ${type}: this server cannot run it`,
        params: names('project_id', 'node_id'),
        check: findNone,
        openDuplex: ({ params }) => findNone(params),
      }),
    ),
  };
}

const nodeOf = (type: string): string => `/v2/compute/projects/{project_id}/${type}/nodes/{node_id}`;

interface NodePath {
  readonly project_id: string;
  readonly node_id: string;
}

function refusingRoutes({ computes }: Controller): Route[] {
  const refuse = (type: string): never => {
    const kind = UNAVAILABLE_KINDS.find((known) => known.type === type);
    throw refusals.nodeKindUnavailable(kind?.unavailable ?? type);
  };
  return [
    ...UNAVAILABLE_KINDS.map(({ type }) =>
      route({
        method: 'POST',
        path: `/v2/compute/projects/{project_id}/${type}/nodes`,
        tag,
        access: { right: 'compute' },
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
        access: { right: 'compute' },
        summary: `Refuse the list of virtual machines of ${type}`,
        params: nothing,
        answers: { 200: virtualMachines },
        handle: () => refuse(type),
      }),
      route({
        method: 'GET',
        path: `/v2/computes/{compute_id}/${type}/vms`,
        tag: 'Computes',
        access: { right: 'computes:read' },
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
