/** A node as a lab file wants it: its own settings, those of its kind in the file, and those of its template. */
import { isDeepStrictEqual } from 'node:util';
import { refusals } from '../../base/errors/errors.js';
import { parseOrRefuse } from '../../base/errors/validation.js';
import { LOCAL_COMPUTE } from '../gns3-file/topology-schema.js';
import type { CloudInterface } from '../kinds/host-interface.js';
import type { NodeKind, Properties } from '../kinds/node-kind.js';
import { kindOfType, servedKind } from '../kinds/node-kinds.js';
import type { NodePort } from '../kinds/port.js';
import { renumbered, storedList, type MappedPort } from '../kinds/ports-mapping.js';
import type { Templates } from '../templates.js';
import type { NewNode } from '../topology/nodes.js';
import { portNaming } from '../topology/port-owner.js';
import { SETTINGS, type LabFile, type LabNode } from './lab-file-form.js';

/** The part of the controller's templates that is used here. */
export type KnownTemplates = Pick<Templates, 'idOf' | 'nodeFrom'>;

export interface WantedNode {
  readonly name: string;
  readonly kind: NodeKind;
  /** The id of the template that the file names, if it names one. */
  readonly templateId: string | undefined;
  /** The properties that the file gives. */
  readonly properties: Properties;
  /** The other settings that the file gives, by their names on the HTTP interface. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly start: boolean | undefined;
  readonly after: readonly string[];
  readonly files: NonNullable<LabNode['files']>;
  /** The request that makes the node. */
  readonly request: NewNode;
}

/** Without a place, new nodes stand in a grid. */
const GRID_STEP = 150;

/** Refuses (400, 404, 409) a node that cannot be made as the file says. */
export function wantedNode(
  file: LabFile,
  name: string,
  spec: LabNode,
  templates: KnownTemplates,
): WantedNode {
  const place = placeOf(spec.at);
  const templateId = spec.template === undefined ? undefined : templates.idOf(spec.template);
  const base = baseOf(name, spec, templateId, templates);
  const kind = servedKind(base.node_type);
  if (kind === undefined)
    throw refusals.nodeKindUnavailable(kindOfType(base.node_type).unavailable ?? base.node_type);
  const defaults = file.kinds[base.node_type] ?? {};
  const ports = spec.ports ?? defaults.ports;
  const given = {
    ...(ports === undefined ? {} : { ports_mapping: portList(kind, ports) }),
    ...defaults.properties,
    ...spec.properties,
  };
  const properties = parseOrRefuse(kind.properties, given, `properties of ${kind.type}`);
  const settings = settingsOf({ ...defaults, ...spec });
  return {
    ...{ name, kind, templateId, properties },
    settings: { ...settings, ...place },
    start: kind.alwaysRuns ? undefined : (spec.start ?? defaults.start),
    after: spec.after ?? [],
    files: spec.files ?? {},
    request: {
      ...base,
      symbol: base.symbol ?? symbolOf(kind),
      ...settings,
      ...place,
      name,
      properties: { ...base.properties, ...given },
    },
  };
}

/** The properties and ports of a node that is made anew. Refuses (409) properties that do not go together. */
export function portsOfNew(wanted: WantedNode, interfaces: readonly CloudInterface[]): readonly NodePort[] {
  const { kind, request } = wanted;
  const properties = kind.create(request.properties ?? {}, '', interfaces);
  const naming = portNaming(kind);
  const owner = {
    nodeId: '',
    properties,
    portNameFormat: request.port_name_format ?? naming.format,
    portSegmentSize: request.port_segment_size ?? naming.segmentSize,
    firstPortName: request.first_port_name ?? null,
    customAdapters: request.custom_adapters ?? [],
  };
  kind.checkPorts?.(owner);
  return kind.ports(owner);
}

/** A place in the grid, for a new node whose place the file does not say. */
export function gridPlace(index: number, count: number): { readonly x: number; readonly y: number } {
  const columns = Math.ceil(Math.sqrt(count));
  const from = -Math.floor(columns / 2);
  return {
    x: (from + (index % columns)) * GRID_STEP,
    y: (from + Math.floor(index / columns)) * GRID_STEP,
  };
}

/** The entries of `wanted` that differ from those of the object, and what stands there. */
export function differences(
  actual: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): { readonly from: Record<string, unknown>; readonly to: Record<string, unknown> } {
  const changed = Object.keys(wanted).filter(
    (key) => !isDeepStrictEqual(actual[key] ?? null, wanted[key] ?? null),
  );
  const part = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(changed.map((key) => [key, object[key] ?? null]));
  return { from: part(actual), to: part(wanted) };
}

export function placeOf(at: LabNode['at']): {
  readonly x?: number;
  readonly y?: number;
  readonly z?: number;
} {
  if (at === undefined) return {};
  const [x, y, z] = at;
  return { x, y, ...(z === undefined ? {} : { z }) };
}

/** The symbol of nodes of the kind that are given none. */
export function symbolOf({ template }: NodeKind): string | undefined {
  const symbol = template.defaults['symbol'];
  return typeof symbol === 'string' ? symbol : undefined;
}

function baseOf(
  name: string,
  spec: LabNode,
  templateId: string | undefined,
  templates: KnownTemplates,
): NewNode {
  const usage = { name, x: 0, y: 0, compute_id: LOCAL_COMPUTE };
  if (templateId !== undefined) return templates.nodeFrom(templateId, usage);
  // The form has made sure of one of the two.
  return { ...usage, node_type: spec.kind ?? 'ethernet_switch' };
}

function settingsOf(given: Partial<LabNode>): Pick<LabNode, (typeof SETTINGS)[number]> {
  return Object.fromEntries(SETTINGS.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])));
}

/** The first port that a new node of the kind has, so many times. Refuses (400) a kind whose ports follow from other settings. */
function portList(kind: NodeKind, count: number): MappedPort[] {
  const [first] = storedList('ports_mapping' in kind.properties.shape ? kind.create({}, '') : {});
  if (first === undefined)
    throw refusals.schemaViolated('in ports', `${kind.type} has its ports by its properties`);
  return renumbered(Array.from({ length: count }, () => first as MappedPort));
}
