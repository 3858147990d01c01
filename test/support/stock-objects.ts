/**
 * The objects that clients of GNS3 2.2 are shown, as the contract has them, written down apart from the server's own schemas:
 * nothing is optional unless the reference leaves it out, and nothing unknown is allowed.
 */
import { z } from 'zod';

const id = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
const whole = z.int();
const text = z.string();
const flag = z.boolean();
const anything = z.record(text, z.unknown());
const percent = z.number().min(0);

const error = z.object({ message: text.min(1), status: whole.min(400) });
const version = z.strictObject({ local: flag, version: text.regex(/^2\.2\.\d+$/) });

const compute = z.strictObject({
  capabilities: z.strictObject({ node_types: z.array(text), platform: text, version: text }),
  compute_id: text,
  connected: flag,
  cpu_usage_percent: percent.nullable(),
  host: text,
  last_error: text.nullable(),
  memory_usage_percent: percent.nullable(),
  name: text,
  port: whole,
  protocol: z.enum(['http', 'https']),
  user: text.nullable(),
});

const project = z.strictObject({
  auto_close: flag,
  auto_open: flag,
  auto_start: flag,
  drawing_grid_size: whole,
  filename: text.regex(/\.gns3$/),
  grid_size: whole,
  name: text,
  path: text,
  project_id: id,
  scene_height: whole,
  scene_width: whole,
  show_grid: flag,
  show_interface_labels: flag,
  show_layers: flag,
  snap_to_grid: flag,
  status: z.enum(['opened', 'closed']),
  supplier: anything.nullable(),
  variables: z.array(anything).nullable(),
  zoom: whole,
});

const nodeLabel = z.strictObject({
  rotation: whole,
  style: text.nullable(),
  text,
  x: whole.nullable(),
  y: whole,
});

const port = z.strictObject({
  adapter_number: whole,
  adapter_type: text.optional(),
  data_link_types: z.record(text, text),
  link_type: z.enum(['ethernet', 'serial']),
  mac_address: text.nullable().optional(),
  name: text,
  port_number: whole,
  short_name: text,
});

const node = z.strictObject({
  command_line: text.nullable(),
  compute_id: text,
  console: whole.nullable(),
  console_auto_start: flag,
  console_host: text,
  console_type: text.nullable(),
  custom_adapters: z.array(anything),
  first_port_name: text.nullable(),
  height: whole,
  label: nodeLabel,
  locked: flag,
  name: text,
  node_directory: text.nullable(),
  node_id: id,
  node_type: text,
  port_name_format: text,
  port_segment_size: whole,
  ports: z.array(port),
  project_id: id,
  properties: anything,
  status: z.enum(['started', 'stopped', 'suspended']),
  symbol: text,
  template_id: id.nullable(),
  width: whole,
  x: whole,
  y: whole,
  z: whole,
});

const linkEnd = z.strictObject({
  adapter_number: whole,
  label: z.strictObject({
    rotation: whole.optional(),
    style: text.nullable().optional(),
    text,
    x: whole.nullable().optional(),
    y: whole.optional(),
  }),
  node_id: id,
  port_number: whole,
});

const link = z.strictObject({
  capture_compute_id: text.nullable(),
  capture_file_name: text.nullable(),
  capture_file_path: text.nullable(),
  capturing: flag,
  filters: anything,
  link_id: id,
  link_style: anything,
  link_type: z.enum(['ethernet', 'serial']),
  nodes: z.array(linkEnd).length(2),
  project_id: id,
  suspend: flag,
});

const drawing = z.strictObject({
  drawing_id: id,
  locked: flag,
  project_id: id,
  rotation: whole,
  svg: text,
  x: whole,
  y: whole,
  z: whole,
});

const snapshot = z.strictObject({
  created_at: whole,
  description: text,
  filename: text,
  name: text,
  project_id: id,
  snapshot_id: id,
});

/** A template has the settings of its kind beside these. */
const template = z.looseObject({
  builtin: flag,
  category: z.enum(['router', 'switch', 'guest', 'firewall']),
  compute_id: text.nullable(),
  default_name_format: text,
  name: text,
  symbol: text,
  template_id: id,
  template_type: text,
});

const gns3vm = z.strictObject({
  allocate_vcpus_ram: flag,
  enable: flag,
  engine: text,
  headless: flag,
  port: whole,
  ram: whole,
  vcpus: whole,
  vmname: text.nullable(),
  when_exit: text,
});

const engine = z.strictObject({
  description: text,
  engine_id: text,
  name: text,
  support_headless: flag,
  support_ram: flag,
  support_when_exit: flag,
});

const image = z.strictObject({ filename: text, filesize: whole, md5sum: text.nullable(), path: text });
const symbol = z.strictObject({ builtin: flag, filename: text, symbol_id: text, theme: text });
const statistics = z.strictObject({ compute_id: text, compute_name: text, statistics: anything });
const stats = z.strictObject({ drawings: whole, links: whole, nodes: whole, snapshots: whole });
const license = z.strictObject({ iourc_content: text, license_check: flag });
const filter = z.strictObject({
  description: text,
  name: text,
  parameters: z.array(anything),
  type: text,
});

const message = z.strictObject({ message: text.min(1) });

/** A picture that has not changed is not told. */
const toldDrawing = drawing.partial({ svg: true });

/** The objects of the notifications of a stream, by the part of the action before its dot. */
export const STOCK_EVENTS = {
  controller: { compute, project, template, log: message },
  project: { node, link, drawing: toldDrawing, snapshot, log: message },
} as const;

/** The objects of answers; a file is what it is. */
export const STOCK_OBJECTS: Readonly<Record<string, z.ZodType>> = {
  appliance: z.looseObject({ builtin: flag, category: text, name: text }),
  binary: z.strictObject({ path: text, version: text }),
  file: z.unknown(),
  machine: z.strictObject({ vmname: text }),
  ...{ compute, drawing, engine, error, filter, gns3vm, image, license, link, node, project, snapshot },
  ...{ statistics, stats, symbol, template, version },
};
