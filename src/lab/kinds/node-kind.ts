/** What a kind of node decides for itself: its properties, and the ports they make. */
import type { z } from 'zod';
import type { LinkType, NODE_TYPES, Port } from '../gns3-file/topology-schema.js';

export type Properties = Readonly<Record<string, unknown>>;

export interface NodeKind {
  readonly type: (typeof NODE_TYPES)[number];
  /** What a client may send as `properties`; everything optional, unknown keys refused. */
  readonly properties: z.ZodType<Properties>;
  /** The complete properties of a new node. Refuses what can not work (409). */
  create(given: Properties): Properties;
  /** The properties after a change, of which `current` may be older than today's rules. */
  update(current: Properties, given: Properties, isConnected: boolean): Properties;
  /** Of all its ports. */
  readonly linkType: LinkType;
  /** Never throws, whatever was stored once. */
  ports(properties: Properties): Port[];
  /** The console types of the kind, the default first; none for a kind without a console. */
  readonly consoleTypes: readonly ('telnet' | 'none')[];
}
