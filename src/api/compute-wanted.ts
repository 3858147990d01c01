/** The dialect between Wirefarms: a controller says what it wants of a project here, and is told what runs. */
import { z } from 'zod';
import { captureStatus, statusOf } from '../captures/capture-status.js';
import type { PortCaptures } from '../captures/port-captures.js';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { endpoint, tcpPort, text, uuid } from '../lab/gns3-file/topology-schema.js';
import type { NodeKind } from '../lab/kinds/node-kind.js';
import { servedKind, SERVED_KINDS } from '../lab/kinds/node-kinds.js';
import type { LocalCompute } from '../run/local-compute.js';
import { MOST_WANTED, type WantedComputeNode } from '../run/wanted-shapes.js';
import { checkId, findProject } from './compute-ids.js';
import { newNodeOf } from './compute-nodes.js';
import { checkLongBody } from './long-body.js';
import { names } from './schemas.js';
import { seed } from './shapes/links.js';

const tag = 'Compute projects';

const count = z.int().min(0);
const status = z.enum(['started', 'stopped', 'suspended']);
const fault = z.strictObject({ status: z.int(), message: z.string() }).nullable();

const place = endpoint.omit({ label: true }).shape;

const [first, ...others] = SERVED_KINDS.map((kind) =>
  z.strictObject({
    node_type: z.literal(kind.type),
    node_id: uuid,
    settings: newNodeOf(kind),
    status: status.optional(),
  }),
);
if (first === undefined) throw new Error('there are no kinds of nodes');
const wantedNode = z
  .discriminatedUnion('node_type', [first, ...others])
  .transform(({ node_type: type, ...wanted }): WantedComputeNode => ({ ...wanted, kind: kindOf(type) }));

const filters = z.record(z.string().max(100), z.unknown());
const wantedAttachment = z.strictObject({
  ...place,
  link_id: uuid,
  lport: tcpPort.optional(),
  peer: z.strictObject({ host: text(1, 255), port: tcpPort }).optional(),
  suspend: z.boolean().default(false),
  filters: filters.default({}),
  directed: z.strictObject({ outward: filters, inward: filters, seed }).optional(),
});

const lists = {
  nodes: { element: wantedNode, most: MOST_WANTED.nodes },
  attachments: { element: wantedAttachment, most: MOST_WANTED.attachments },
  removed_nodes: { element: uuid, most: MOST_WANTED.nodes },
  removed_attachments: { element: z.strictObject(place), most: MOST_WANTED.attachments },
};

const wanted = z.strictObject({
  name: text(1, 255),
  epoch: count.min(1),
  number: count.min(1),
  since: count.optional(),
  nodes: listOf(lists.nodes),
  attachments: listOf(lists.attachments),
  removed_nodes: listOf(lists.removed_nodes),
  removed_attachments: listOf(lists.removed_attachments),
});

const actual = z.strictObject({
  life: z.string(),
  epoch: count,
  number: count,
  nodes: z.array(
    z.strictObject({
      node_id: uuid,
      status: status.nullable(),
      console: tcpPort.nullable(),
      command_line: z.string().nullable(),
      node_directory: z.string().nullable(),
      fault,
    }),
  ),
  attachments: z.array(z.strictObject({ ...place, link_id: uuid, lport: tcpPort.nullable(), fault })),
});

const END_COLUMNS = ['frames_out', 'octets_out', 'frames_in', 'octets_in', 'filtered', 'dropped'] as const;
const endCounts = z.strictObject({
  link_id: uuid,
  node_id: uuid,
  since: z.number(),
  counts: z.array(z.number()).length(END_COLUMNS.length),
});

const endCapture = z.strictObject({ link_id: uuid, node_id: uuid, status: captureStatus });

export function computeWantedRoutes(compute: LocalCompute, captures: PortCaptures): Route[] {
  const path = '/v2/compute/projects/{project_id}/wanted';
  const params = names('project_id');
  return [
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'compute' },
      summary: 'Show what runs of what a Wirefarm wants of this project',
      params,
      answers: { 200: actual },
      handle: ({ params: { project_id: id } }) =>
        json(200, { life: compute.life, ...compute.wantedOf(findProject(compute, id)).actual }),
    }),
    route({
      method: 'GET',
      path: `${path}/counts`,
      tag,
      access: { right: 'compute' },
      summary: 'Count what has passed each end of a link that a Wirefarm wants of this project',
      params,
      answers: { 200: z.strictObject({ columns: z.array(z.enum(END_COLUMNS)), ends: z.array(endCounts) }) },
      handle: ({ params: { project_id: id } }) =>
        json(200, { columns: END_COLUMNS, ends: compute.wantedOf(findProject(compute, id)).counts }),
    }),
    route({
      method: 'GET',
      path: `${path}/captures`,
      tag,
      access: { right: 'compute' },
      summary: 'Show the last captures at the ends of links that a Wirefarm wants of this project',
      params,
      answers: { 200: z.strictObject({ captures: z.array(endCapture) }) },
      handle: ({ params: { project_id: id } }) => {
        const found = compute
          .wantedOf(findProject(compute, id))
          .attached.flatMap(({ linkId, node, port }) => {
            const capture = captures.last(node, port);
            return capture === undefined
              ? []
              : [{ link_id: linkId, node_id: node.id, status: statusOf(capture) }];
          });
        return json(200, { captures: found });
      },
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'compute' },
      summary: 'Say what a Wirefarm wants of this project: all of it, or what has changed since a number',
      params,
      body: wanted,
      checkBody: (body) => checkLongBody(wanted, lists, body),
      answers: { 200: actual },
      handle: async ({ params: { project_id: id }, body: { name, ...change } }) => {
        checkId('Project', id);
        if (compute.runOf(id) !== undefined) throw refusals.wantedOfOwn(id);
        // A difference is of no use without the project.
        if (change.since === undefined) await compute.projects.create({ name, project_id: id });
        const followed = await compute.wantedOf(compute.projects.find(id)).follow(change);
        return json(200, { life: compute.life, ...followed });
      },
    }),
  ];
}

function listOf<Element extends z.ZodType>(list: {
  readonly element: Element;
  readonly most: number;
}): z.ZodDefault<z.ZodArray<Element>> {
  return z
    .array(list.element)
    .max(list.most)
    .default(() => []);
}

function kindOf(type: string): NodeKind {
  const kind = servedKind(type);
  if (kind === undefined) throw new Error(`no kind of node '${type}' runs here`);
  return kind;
}
