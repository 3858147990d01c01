/** How links and their filters look in answers. The console takes its types from here. */
import { z } from 'zod';
import { endpoint, label, openObject, uuid } from '../../lab/gns3-file/topology-schema.js';
import { linkMedium } from '../../lab/kinds/port.js';

/** The 11 keys of GNS3 and no more, because stock clients refuse unknown keys. */
export const link = z.strictObject({
  capture_compute_id: z.string().nullable(),
  capture_file_name: z.string().nullable(),
  capture_file_path: z.string().nullable(),
  capturing: z.boolean(),
  filters: openObject,
  link_id: uuid,
  link_style: openObject,
  link_type: linkMedium,
  nodes: z.array(z.strictObject({ ...endpoint.shape, label })),
  project_id: uuid,
  suspend: z.boolean(),
});
export type LinkShape = z.output<typeof link>;

export const seed = z.int().min(0).max(4_294_967_295).nullable();

export const directed = z.strictObject({ backward: openObject, forward: openObject, link_id: uuid, seed });
export type DirectedShape = z.output<typeof directed>;

const hits = z.record(z.string(), z.int());
export const filterHits = z.strictObject({ backward: hits, forward: hits, link_id: uuid });
export type FilterHitsShape = z.output<typeof filterHits>;

export const filterType = z.strictObject({
  type: z.string(),
  name: z.string(),
  description: z.string(),
  parameters: z.array(
    z.strictObject({
      name: z.string(),
      type: z.enum(['int', 'text']),
      minimum: z.int().optional(),
      maximum: z.int().optional(),
      unit: z.string().optional(),
    }),
  ),
});
export type FilterTypeShape = z.output<typeof filterType>;
