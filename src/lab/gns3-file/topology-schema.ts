/**
 * The objects of a topology as the file format and the API share them. Objects
 * read from a file may have keys that we do not know; these are kept.
 */
import { z } from 'zod';
import { CONSOLE_TYPES } from '../kinds/console-types.js';
import { customAdapters } from '../kinds/custom-adapters.js';
import { NODE_TYPES } from '../kinds/node-kinds.js';

const UUID = /^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}$/;

export const uuid = z.string().regex(UUID, 'must be a UUID');
export const text = (least: number, most: number): z.ZodString => z.string().min(least).max(most);
export const coordinate = z.int().min(-1_000_000_000).max(1_000_000_000);
export const rotation = z.int().min(-359).max(360);
/** An object whose content is the client's business. */
export const openObject = z.record(z.string(), z.unknown());

/** The id of this server as a compute. */
export const LOCAL_COMPUTE = 'local';

export const nodeType = z.enum(NODE_TYPES);

export const consoleType = z.enum(CONSOLE_TYPES).nullable();
export const tcpPort = z.int().min(1).max(65_535);

export const label = z.strictObject({
  rotation: rotation.optional(),
  style: z.string().max(65_536).nullable().optional(),
  text: z.string().max(65_536),
  x: coordinate.nullable().optional(),
  y: coordinate.optional(),
});
export type Label = z.infer<typeof label>;

/** A node as it stands in a topology file: what is absent has the contract's default. */
export const storedNode = z.looseObject({
  compute_id: z.string(),
  node_id: uuid,
  node_type: nodeType,
  template_id: uuid.nullable().optional(),
  name: z.string().min(1),
  console: tcpPort.nullable().optional(),
  console_type: consoleType.optional(),
  console_auto_start: z.boolean().optional(),
  properties: openObject.optional(),
  label: label.nullable().optional(),
  symbol: z.string().min(1).nullable().optional(),
  width: z.int().optional(),
  height: z.int().optional(),
  x: coordinate.optional(),
  y: coordinate.optional(),
  z: coordinate.optional(),
  locked: z.boolean().optional(),
  port_name_format: z.string().optional(),
  port_segment_size: z.int().min(0).optional(),
  first_port_name: z.string().nullable().optional(),
  custom_adapters: customAdapters.optional(),
});
export type StoredNode = z.infer<typeof storedNode>;

export const endpoint = z.strictObject({
  node_id: uuid,
  adapter_number: z.int().min(0).max(65_535),
  port_number: z.int().min(0).max(65_535),
  label: label.optional(),
});
export type LinkEnd = z.infer<typeof endpoint>;

export const linkStyle = z.record(z.string(), z.unknown()).superRefine((style, context) => {
  checkStyle(style, 'color', 'string', context);
  checkStyle(style, 'width', 'number', context);
  checkStyle(style, 'type', 'number', context);
});

function checkStyle(
  style: Record<string, unknown>,
  key: string,
  type: 'string' | 'number',
  context: z.RefinementCtx,
): void {
  const value = style[key];
  if (value === undefined || (typeof value === type && (type === 'string' || Number.isSafeInteger(value))))
    return;
  context.addIssue({
    code: 'custom',
    path: [key],
    message: `must be ${type === 'string' ? 'a string' : 'an integer'}`,
    input: value,
  });
}

export const storedLink = z.looseObject({
  link_id: uuid,
  nodes: z.array(z.looseObject(endpoint.shape)),
  // Wrong filters do not keep a project from being opened.
  filters: openObject.optional().catch({}),
  link_style: openObject.optional(),
  suspend: z.boolean().optional(),
});
export type StoredLink = z.infer<typeof storedLink>;

export const storedDrawing = z.looseObject({
  drawing_id: uuid,
  x: coordinate.optional(),
  y: coordinate.optional(),
  z: coordinate.optional(),
  locked: z.boolean().optional(),
  rotation: rotation.optional(),
  svg: z.string().optional(),
});
export type StoredDrawing = z.infer<typeof storedDrawing>;

export const supplier = z.looseObject({ logo: z.string().optional(), url: z.string().optional() }).nullable();
const MOST_VARIABLES = 10_000;
export const variables = z
  .array(z.looseObject({ name: z.string().min(1), value: z.string().optional() }))
  .max(MOST_VARIABLES)
  .nullable();

/** The settings of a project that its topology file carries. */
export const projectSettings = z.object({
  auto_close: z.boolean().default(true),
  auto_open: z.boolean().default(false),
  auto_start: z.boolean().default(false),
  drawing_grid_size: z.int().default(25),
  grid_size: z.int().default(75),
  name: text(1, 255),
  scene_height: z.int().default(1000),
  scene_width: z.int().default(2000),
  show_grid: z.boolean().default(false),
  show_interface_labels: z.boolean().default(false),
  show_layers: z.boolean().default(false),
  snap_to_grid: z.boolean().default(false),
  supplier: supplier.default(null),
  variables: variables.default(null),
  zoom: z.int().default(100),
});
export type ProjectSettings = z.infer<typeof projectSettings>;
