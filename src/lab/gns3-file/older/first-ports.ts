/** Ports of GNS3 1, which have numbers that are unique in their project. Pure. */
import { z } from 'zod';

export const word = z.string().max(255);
/** Numbers a node, a port or a server of one file. */
export const number = z.union([z.int(), word]);
export type FirstNumber = z.output<typeof number>;

const portNumber = z.int().min(0).max(65_535);

export const firstPort = z.object({
  id: number,
  name: z.string().max(1024).default(''),
  adapter_number: portNumber.default(0),
  port_number: portNumber.default(0),
  type: word.optional(),
  vlan: z.int().optional(),
  ethertype: word.optional(),
});
export type FirstPort = z.output<typeof firstPort>;

/** The place of a port after the conversion, by its number in the file. */
export interface ConvertedPort {
  readonly id: FirstNumber;
  readonly adapter: number;
  readonly port: number;
}
