/**
 * The topology file as part C.1 of the contract describes what a server writes, written down once more and
 * apart from the server's own schemas: nothing is optional, nothing unknown is allowed.
 */
import { z } from 'zod';

const id = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
const whole = z.int();
const anything = z.record(z.string(), z.unknown());

const label = z.strictObject({
  rotation: whole.optional(),
  style: z.string().nullable().optional(),
  text: z.string(),
  x: whole.nullable().optional(),
  y: whole.optional(),
});

const drawing = z.strictObject({
  drawing_id: id,
  locked: z.boolean(),
  rotation: whole,
  svg: z.string(),
  x: whole,
  y: whole,
  z: whole,
});

const end = z.strictObject({ adapter_number: whole, label, node_id: id, port_number: whole });

const link = z.strictObject({
  filters: anything,
  link_id: id,
  link_style: anything,
  nodes: z.array(end).length(2),
  suspend: z.boolean(),
});

const node = z.strictObject({
  compute_id: z.string(),
  console: whole.nullable(),
  console_auto_start: z.boolean(),
  console_type: z.enum(['vnc', 'telnet', 'http', 'https', 'spice', 'spice+agent', 'none']).nullable(),
  custom_adapters: z.array(anything),
  first_port_name: z.string().nullable(),
  height: whole,
  label,
  locked: z.boolean(),
  name: z.string().min(1),
  node_id: id,
  node_type: z.enum([
    'atm_switch',
    'cloud',
    'docker',
    'dynamips',
    'ethernet_hub',
    'ethernet_switch',
    'frame_relay_switch',
    'iou',
    'nat',
    'qemu',
    'traceng',
    'virtualbox',
    'vmware',
    'vpcs',
  ]),
  port_name_format: z.string(),
  port_segment_size: whole,
  properties: anything,
  symbol: z.string(),
  template_id: id.nullable(),
  width: whole,
  x: whole,
  y: whole,
  z: whole,
});

const compute = z.strictObject({
  compute_id: z.string(),
  host: z.string(),
  name: z.string(),
  port: whole,
  protocol: z.string(),
});

const keptNode = z.looseObject({
  node_id: id,
  name: z.string(),
  node_type: z.string(),
  compute_id: z.string(),
});
const keptLink = z.looseObject({ link_id: id, nodes: z.array(z.looseObject({ node_id: id })) });
const keptDrawing = z.looseObject({ drawing_id: id });

const file = z.strictObject({
  auto_close: z.boolean(),
  auto_open: z.boolean(),
  auto_start: z.boolean(),
  drawing_grid_size: whole,
  grid_size: whole,
  name: z.string().min(1),
  project_id: id,
  revision: z.literal(9),
  scene_height: whole,
  scene_width: whole,
  show_grid: z.boolean(),
  show_interface_labels: z.boolean(),
  show_layers: z.boolean(),
  snap_to_grid: z.boolean(),
  supplier: z.strictObject({ logo: z.string(), url: z.string() }).partial().nullable(),
  topology: z.strictObject({
    computes: z.array(compute),
    drawings: z.array(keptDrawing),
    links: z.array(keptLink),
    nodes: z.array(keptNode),
  }),
  type: z.literal('topology'),
  variables: z.array(z.strictObject({ name: z.string().min(1), value: z.string().optional() })).nullable(),
  version: z.string().regex(/^2\.2\.\d+/),
  zoom: whole,
});

export type Gns3File = z.infer<typeof file>;

/**
 * Returns the faults of the text of a topology file. Objects whose id is in `kept` came
 * from a file of somebody else's: they may have more keys than ours, or fewer.
 */
export function gns3Problems(text: string, kept: ReadonlySet<string> = new Set()): string[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return [`no JSON: ${String(error)}`];
  }
  const parsed = file.safeParse(json);
  if (!parsed.success) return [z.prettifyError(parsed.error)];
  const { nodes, links, drawings } = parsed.data.topology;
  return [
    ...(text === asReferenceWrites(json) ? [] : ['not sorted, indented by four and in ASCII']),
    ...objectProblems(nodes, (object) => object.node_id, node, kept),
    ...objectProblems(links, (object) => object.link_id, link, kept),
    ...objectProblems(drawings, (object) => object.drawing_id, drawing, kept),
    ...linkProblems(parsed.data, kept),
  ];
}

/** The parsed text of a file that must be right. */
export function parseGns3(text: string, kept?: ReadonlySet<string>): Gns3File {
  const problems = gns3Problems(text, kept);
  if (problems.length > 0) throw new Error(`bad topology file: ${problems.join('; ')}`);
  return file.parse(JSON.parse(text));
}

/** As `json.dump(topology, file, indent=4, sort_keys=True)` writes it. */
export function asReferenceWrites(value: unknown): string {
  const text = JSON.stringify(sorted(value), null, 4);
  return text.replace(/[^\0-\x7f]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

function objectProblems<Entity>(
  objects: readonly Entity[],
  idOf: (object: Entity) => string,
  schema: z.ZodType,
  kept: ReadonlySet<string>,
): string[] {
  const seen = new Set<string>();
  return objects.flatMap((object) => {
    const own = idOf(object);
    const twice = seen.has(own) ? [`${own} is there twice`] : [];
    seen.add(own);
    const parsed = kept.has(own) ? undefined : schema.safeParse(object);
    return parsed?.success === false ? [...twice, `${own}: ${z.prettifyError(parsed.error)}`] : twice;
  });
}

function linkProblems({ topology }: Gns3File, kept: ReadonlySet<string>): string[] {
  const known = new Set(topology.nodes.map((object) => object.node_id));
  const ports = new Set<string>();
  return topology.links
    .filter((object) => !kept.has(object.link_id))
    .flatMap((object) =>
      link.parse(object).nodes.flatMap(({ node_id, adapter_number, port_number }) => {
        const port = `${node_id} ${adapter_number}/${port_number}`;
        const isUsed = ports.has(port);
        ports.add(port);
        if (!known.has(node_id)) return [`link ${object.link_id} to a missing node`];
        return isUsed ? [`${port} is used twice`] : [];
      }),
    );
}
