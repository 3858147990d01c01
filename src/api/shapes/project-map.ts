/** The map of a lab, and what passes its links, as answers have them. The console takes its types from here. */
import { z } from 'zod';
import { consoleType, nodeType, openObject, tcpPort, uuid } from '../../lab/gns3-file/topology-schema.js';
import { linkMedium } from '../../lab/kinds/port.js';

const flag = z.literal(true).optional();
const filters = openObject.optional();

export const projectMap = z.strictObject({
  /** The number of drawings, whose pictures may be large: they have a list of their own. */
  drawings: z.int(),
  links: z.array(
    z.strictObject({
      backward: filters,
      capturing: flag,
      /** For each end the place of its node in `nodes`, the adapter and the port. */
      ends: z.array(z.tuple([z.int(), z.int(), z.int()])),
      filters,
      forward: filters,
      link_id: uuid,
      /** Missing for Ethernet. */
      link_type: linkMedium.optional(),
      suspend: flag,
    }),
  ),
  nodes: z.array(
    z.strictObject({
      console: tcpPort.optional(),
      console_type: consoleType.optional(),
      height: z.int(),
      locked: flag,
      name: z.string(),
      node_id: uuid,
      node_type: nodeType,
      status: z.enum(['stopped', 'started', 'suspended']),
      /** The place of the symbol in `symbols`. */
      symbol: z.int(),
      width: z.int(),
      x: z.int(),
      y: z.int(),
      z: z.int(),
    }),
  ),
  project_id: uuid,
  symbols: z.array(z.string()),
  /** The number of the last event that is in the map: notifications go on from there with `since`. */
  version: z.int(),
});
export type ProjectMapShape = z.output<typeof projectMap>;
