/** The kinds of node that this server runs itself, in the order in which clients are told. */
import { atmSwitch } from './atm-switch.js';
import { ethernetHub } from './ethernet-hub.js';
import { ethernetSwitch } from './ethernet-switch.js';
import { frameRelaySwitch } from './frame-relay-switch.js';
import type { NodeKind } from './node-kind.js';

export const SERVED_KINDS: readonly NodeKind[] = [ethernetHub, ethernetSwitch, frameRelaySwitch, atmSwitch];

const BY_TYPE = new Map<string, NodeKind>(SERVED_KINDS.map((kind) => [kind.type, kind]));

export function servedKind(type: string): NodeKind | undefined {
  return BY_TYPE.get(type);
}
