/** How labs at a glance look in answers. The console takes its type from here. */
import { z } from 'zod';
import { GRANTS } from '../../base/rights.js';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

const time = z.iso.datetime().nullable();

export const labFigures = z.strictObject({
  project_id: uuid,
  /** How far the caller may use it. */
  grant: z.enum(GRANTS),
  /** The names of the users who own it. */
  owners: z.array(z.string()),
  last_used_at: time,
  ends_at: time,
  /** Null while the project is closed. */
  running: z
    .strictObject({
      nodes: z.int(),
      started: z.int(),
      links: z.int(),
      captures: z.int(),
      /** The octets that have passed the links, both ways, since each was connected. */
      octets: z.number(),
    })
    .nullable(),
});
export type LabFiguresShape = z.output<typeof labFigures>;
