/** The adapters of a node that a client has given a name, a type or an address of their own. */
import { z } from 'zod';

const MAC = /^([0-9a-fA-F]{2}:){5}([0-9a-fA-F]{2})$/;

export const macAddress = z.string().regex(MAC, 'must be a MAC address');

const customAdapter = z.strictObject({
  adapter_number: z.int(),
  port_name: z.string().min(1).optional(),
  adapter_type: z.string().min(1).optional(),
  mac_address: macAddress.optional(),
});
export type CustomAdapter = z.infer<typeof customAdapter>;

const MOST_ADAPTERS = 1024;

export const customAdapters = z.array(customAdapter).max(MOST_ADAPTERS);

const longestWord = z.string().min(1).max(255).optional();

/** As clients may send them to a node's kind or to a template; files may hold longer ones. */
export const givenAdapters = z
  .array(customAdapter.extend({ port_name: longestWord, adapter_type: longestWord }))
  .max(MOST_ADAPTERS);

/** The entries by the number of the adapter; of several for one adapter the first counts. */
export function byAdapter(list: readonly CustomAdapter[]): ReadonlyMap<number, CustomAdapter> {
  return new Map(list.toReversed().map((custom) => [custom.adapter_number, custom]));
}
