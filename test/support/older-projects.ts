/** Topology files as the releases of GNS3 before 2.2 wrote them, one of each revision, with own content. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Json } from './gns3-project.js';

export interface OlderLab {
  readonly id: string;
  readonly text: string;
}

const FONT = 'TypeWriter,10,-1,5,75,0,0,0,0,0';
let counter = 0;

/** A node of GNS3 1 with its ports, whose numbers are unique in this process. */
export function firstNode(
  type: string | undefined,
  name: string,
  more: Json = {},
  ports: Json[] = [{}],
): Json {
  return {
    id: ++counter,
    description: `a ${name}`,
    ...(type === undefined ? {} : { type }),
    label: { color: '#ff000000', font: FONT, text: name, x: 6.5, y: -25.0 },
    ports: ports.map((port, index) => ({
      id: ++counter,
      name: `Ethernet${index}`,
      adapter_number: 0,
      port_number: index,
      ...port,
    })),
    server_id: 1,
    vm_id: randomUUID(),
    x: -12.5,
    y: 7.75,
    ...more,
    properties: { name, ...(more['properties'] as Json | undefined) },
  };
}

export function firstLink(
  [from, fromPort]: readonly [Json, number],
  [to, toPort]: readonly [Json, number],
): Json {
  const portId = (node: Json, port: number): unknown => (node['ports'] as Json[])[port]?.['id'];
  return {
    id: ++counter,
    description: 'a link',
    source_node_id: from['id'],
    source_port_id: portId(from, fromPort),
    destination_node_id: to['id'],
    destination_port_id: portId(to, toPort),
  };
}

/** A file of revisions 1 to 4; the first had no such number. */
export function firstLab(revision: number, topology: Json, head: Json = {}): OlderLab {
  const id = randomUUID();
  const file = {
    auto_start: false,
    name: `revision ${revision}`,
    project_id: id,
    ...(revision === 1 ? { resources_type: 'local' } : { revision }),
    topology: { servers: [{ id: 1, local: true, host: '127.0.0.1', port: 8000 }], ...topology },
    type: 'topology',
    version: ['1.0', '1.3.13', '1.4.6', '1.5.4'][revision - 1],
    ...head,
  };
  return { id, text: JSON.stringify(file, undefined, 4) };
}

/** A file of revisions 5 to 8. */
export function secondLab(revision: number, topology: Json, head: Json = {}): OlderLab {
  const id = randomUUID();
  const file = {
    auto_start: false,
    name: `revision ${revision}`,
    project_id: id,
    revision,
    topology: { computes: [], drawings: [], links: [], nodes: [], ...topology },
    type: 'topology',
    version: ['2.0.0a3', '2.0.0b2', '2.0.3', '2.1.21'][revision - 5],
    ...head,
  };
  return { id, text: JSON.stringify(file, undefined, 4) };
}

/** A node of GNS3 2 as it was stored before 2.2. */
export function secondNode(type: string, name: string, properties: Json = {}, more: Json = {}): Json {
  return {
    compute_id: 'local',
    console: null,
    console_type: 'telnet',
    first_port_name: null,
    label: { rotation: 0, style: 'font-size: 10;', text: name, x: 1, y: -25 },
    name,
    node_id: randomUUID(),
    node_type: type,
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
    properties,
    symbol: ':/symbols/computer.svg',
    x: 1,
    y: 2,
    z: 1,
    ...more,
  };
}

export function secondLink(first: readonly [Json, number], second: readonly [Json, number]): Json {
  return {
    link_id: randomUUID(),
    nodes: [first, second].map(([node, port]) => ({
      node_id: node['node_id'],
      adapter_number: 0,
      port_number: port,
    })),
  };
}

/** Puts the project into a folder of its own, with further files. */
export function placeOlder(
  projects: string,
  name: string,
  { text }: OlderLab,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): { readonly folder: string; readonly path: string } {
  const folder = join(projects, name);
  mkdirSync(folder);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const path = join(folder, `${name}.gns3`);
  writeFileSync(path, text);
  return { folder, path };
}
