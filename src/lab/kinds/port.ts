/** A port of a node, as clients see it. */
import { z } from 'zod';

export const linkMedium = z.enum(['ethernet', 'serial']);
export type LinkMedium = z.infer<typeof linkMedium>;

export const port = z.strictObject({
  adapter_number: z.int(),
  /** Only where it is known. */
  adapter_type: z.string().optional(),
  data_link_types: z.record(z.string(), z.string()),
  link_type: linkMedium,
  /** Only where it is known. */
  mac_address: z.string().optional(),
  name: z.string(),
  port_number: z.int(),
  short_name: z.string(),
});
export type NodePort = z.infer<typeof port>;
