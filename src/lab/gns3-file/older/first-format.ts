/**
 * The format of GNS3 1.0 to 1.5, revisions 1 to 4, which was the state of its desktop client: nodes and their ports have
 * numbers, and links name ports by these. This makes revision 5 of it. Pure.
 */
import { z } from 'zod';
import { refusals } from '../../../base/errors/errors.js';
import { describeIssues, fitted } from '../../../base/errors/validation.js';
import { LOCAL_COMPUTE, text, uuid } from '../topology-schema.js';
import { derivedId } from './derived-id.js';
import { labelStyle } from './first-fonts.js';
import { convertedNode, firstNode, type FirstNode } from './first-nodes.js';
import { number, type ConvertedPort, type FirstNumber } from './first-ports.js';
import { convertedShapes, escaped, firstShapes } from './first-shapes.js';
import type { OlderFile } from './revision-steps.js';

const server = z.object({
  id: number,
  local: z.boolean().default(false),
  vm: z.boolean().default(false),
  host: z.string().max(255).default('localhost'),
  port: z.int().default(3080),
  protocol: z.string().max(16).default('http'),
});

const link = z.object({
  source_node_id: number,
  source_port_id: number,
  destination_node_id: number,
  destination_port_id: number,
});

const firstFile = z.object({
  type: z.literal('topology'),
  name: text(1, 255),
  project_id: uuid.nullish(),
  auto_start: z.boolean().default(false),
  version: z.string().default('1.0'),
  topology: z
    .object({
      servers: z.array(server).default([]),
      nodes: z.array(firstNode).default([]),
      links: z.array(link).default([]),
      ...firstShapes,
    })
    .prefault({}),
});

/** A port as links name it. Each project numbers its own ports. */
type Ends = ReadonlyMap<FirstNumber, ConvertedPort & { readonly node: FirstNumber }>;

/** Derives missing ids from `seed`. Refuses (409) a file that is not of this format. */
export function fromFirstFormat(given: unknown, seed: string): OlderFile {
  const parsed = fitted(firstFile, given);
  if (!parsed.success) throw refusals.topologyInvalid(describeIssues(parsed.error));
  const { name, version, auto_start, topology } = parsed.data;
  const projectId = parsed.data.project_id ?? derivedId(seed, 'project');
  const computes = topology.servers.map((each) => computeOf(each, projectId));
  const ids = nodeIds(topology.nodes, projectId);
  const ends = new Map<FirstNumber, ConvertedPort & { readonly node: FirstNumber }>();
  const nodes = topology.nodes.map((old, index) => {
    const { node, ports } = convertedNode(old);
    for (const port of ports) ends.set(port.id, { ...port, node: old.id });
    const server = computes.find(({ number }) => number === old.server_id);
    return {
      ...node,
      ...labelOf(old, index),
      compute_id: server?.id ?? LOCAL_COMPUTE,
      node_id: ids.get(old.id) ?? derivedId(projectId, `node ${index}`),
    };
  });
  return {
    type: 'topology',
    revision: 5,
    version,
    name,
    project_id: projectId,
    auto_start,
    topology: {
      computes: computes.flatMap(({ record }) => record ?? []),
      drawings: convertedShapes(topology).map((drawing, index) => ({
        drawing_id: derivedId(projectId, `drawing ${index}`),
        ...drawing,
      })),
      links: topology.links.flatMap((old, index) => {
        const sides = [
          endOf(old.source_node_id, old.source_port_id, ids, ends),
          endOf(old.destination_node_id, old.destination_port_id, ids, ends),
        ].flatMap((end) => end ?? []);
        return sides.length === 2 ? [{ link_id: derivedId(projectId, `link ${index}`), nodes: sides }] : [];
      }),
      nodes,
    },
  };
}

/** The GNS3 VM and the local server are known to every server, so that they need no record. */
function computeOf(
  { id: number, local, vm, host, port, protocol }: z.output<typeof server>,
  projectId: string,
): { readonly number: FirstNumber; readonly id: string; readonly record?: object } {
  if (local) return { number, id: LOCAL_COMPUTE };
  if (vm) return { number, id: 'vm' };
  const id = derivedId(projectId, `compute ${number}`);
  return { number, id, record: { compute_id: id, name: `Remote ${number}`, host, port, protocol } };
}

/** The ids that the nodes have had, where two have not the same. */
function nodeIds(nodes: readonly FirstNode[], projectId: string): ReadonlyMap<FirstNumber, string> {
  const ids = new Map<FirstNumber, string>();
  const taken = new Set<string>();
  nodes.forEach((node, index) => {
    const own = [node.vm_id, node.device_id, ...Object.values(node.earlier)].find(
      (id) => uuid.safeParse(id).success && !taken.has(String(id).toLowerCase()),
    );
    const id = own ?? derivedId(projectId, `node ${index}`);
    taken.add(id.toLowerCase());
    ids.set(node.id, id);
  });
  return ids;
}

function labelOf({ label, properties }: FirstNode, index: number): { name: string; label?: object } {
  const known = typeof properties['name'] === 'string' ? properties['name'] : '';
  if (label === undefined) return { name: known === '' ? `Node${index + 1}` : known };
  const name = [label.text, known, `Node${index + 1}`].find((each) => each.trim() !== '') ?? '';
  return {
    name,
    label: {
      rotation: 0,
      style: labelStyle(label.font, label.color),
      text: escaped(label.text),
      x: Math.trunc(label.x),
      y: Math.trunc(label.y),
    },
  };
}

/** Undefined for a port that is not there: then there is no link, as in the reference. */
function endOf(
  node: FirstNumber,
  port: FirstNumber,
  ids: ReadonlyMap<FirstNumber, string>,
  ends: Ends,
): object | undefined {
  const found = ends.get(port);
  const id = ids.get(node);
  if (found === undefined || id === undefined || found.node !== node) return undefined;
  return { node_id: id, adapter_number: found.adapter, port_number: found.port };
}
