/** NIOs: the things that a port can be attached to, as clients describe them. */
import { z } from 'zod';

const text = z.string().min(1).max(255);
const path = z.string().min(1).max(4096);
const port = z.int().min(1).max(65_535);

const nioUdp = z.strictObject({
  type: z.literal('nio_udp'),
  lport: port,
  rhost: text,
  rport: port,
  suspend: z.boolean().optional(),
  filters: z.record(z.string(), z.unknown()).optional(),
});

const variants = z.discriminatedUnion('type', [
  nioUdp,
  z.strictObject({ type: z.literal('nio_generic_ethernet'), ethernet_device: text }),
  z.strictObject({ type: z.literal('nio_linux_ethernet'), ethernet_device: text }),
  z.strictObject({ type: z.literal('nio_ethernet'), ethernet_device: text }),
  z.strictObject({ type: z.literal('nio_tap'), tap_device: text }),
  z.strictObject({ type: z.literal('nio_unix'), local_file: path, remote_file: path }),
  z.strictObject({ type: z.literal('nio_vde'), control_file: path, local_file: path }),
  z.strictObject({ type: z.literal('nio_vmnet'), vmnet: text }),
  z.strictObject({ type: z.literal('nio_nat') }),
  z.strictObject({ type: z.literal('nio_null') }),
]);

/** A value that fits no variant is refused with the whole value in the message, as clients expect. */
export const nio = z
  .unknown()
  .transform((input, context) => {
    const parsed = variants.safeParse(input);
    if (parsed.success) return parsed.data;
    context.addIssue({
      code: 'custom',
      message: `${shown(input)} is not valid under any of the given schemas`,
      input,
    });
    return z.NEVER;
  })
  .meta({ anyOf: z.toJSONSchema(variants, { io: 'input' }).oneOf });

export type Nio = Exclude<z.infer<typeof variants>, { readonly type: 'nio_udp' }> | NioUdp;

/** A port of a bridge of the host, that is made for one port of a node. No client can ask for it by itself. */
export interface BridgePort {
  readonly type: 'bridge';
  readonly bridge: string;
  /** The number of the node's port. */
  readonly port: number;
}

/** Filters of one way at an end of a link, by what its node sends and gets, and their seed. */
export interface EndFilters {
  readonly outward: Readonly<Record<string, unknown>>;
  readonly inward: Readonly<Record<string, unknown>>;
  readonly seed: number | null;
}

/** No client can say by itself that an end is one of a tunnel between hosts, and is to be at the address for these. */
export type NioUdp = z.infer<typeof nioUdp> & {
  readonly isTunnel?: true;
  readonly directed?: EndFilters | undefined;
};

const LONGEST_SHOWN = 500;

function shown(input: unknown): string {
  return JSON.stringify(input).slice(0, LONGEST_SHOWN);
}

/** An NIO as it is echoed to a client that has changed it. */
export const changedNio = variants;

/** An NIO as it is echoed to the client: without suspension and filters. */
export const canonicalNio = z.union([
  nioUdp.omit({ suspend: true, filters: true }),
  ...variants.options.slice(1),
]);

export function canonical(given: Nio | BridgePort): object {
  const { suspend, filters, isTunnel, directed, ...kept } = {
    ...{ suspend: undefined, filters: undefined, isTunnel: undefined, directed: undefined },
    ...given,
  };
  return Object.fromEntries(Object.entries(kept).sort(([a], [b]) => (a < b ? -1 : 1)));
}
