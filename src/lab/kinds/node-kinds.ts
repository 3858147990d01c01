/** The list of all kinds of node. A new kind is a file of its own and a line here. */
import { atmSwitch } from './atm-switch.js';
import { cloud } from './cloud.js';
import { docker } from './docker.js';
import { dynamips } from './dynamips.js';
import { ethernetHub } from './ethernet-hub.js';
import { ethernetSwitch } from './ethernet-switch.js';
import { frameRelaySwitch } from './frame-relay-switch.js';
import { iou } from './iou.js';
import { virtualbox, vmware } from './kept-kinds.js';
import { nat } from './nat.js';
import type { KeptKind, NodeKind, ProgramKind, SwitchKind } from './node-kind.js';
import { qemu } from './qemu.js';
import { traceng } from './traceng.js';
import { vpcs } from './vpcs.js';

/** The kinds that run on engines. */
export const SWITCH_KINDS: readonly SwitchKind[] = [ethernetHub, ethernetSwitch, frameRelaySwitch, atmSwitch];

/** The kinds whose nodes are programs. A host may lack the programs of some. */
export const PROGRAM_KINDS: readonly ProgramKind[] = [docker, dynamips, vpcs, iou, qemu];

/** The kinds whose ports lead out of the lab. */
export const CLOUD_KINDS: readonly NodeKind[] = [cloud, nat];

/** The kinds that this server runs, in the order in which clients read them. */
export const SERVED_KINDS: readonly NodeKind[] = [...CLOUD_KINDS, ...SWITCH_KINDS, ...PROGRAM_KINDS];

const ALL_KINDS = [
  cloud,
  nat,
  ...SWITCH_KINDS,
  docker,
  dynamips,
  vpcs,
  traceng,
  virtualbox,
  vmware,
  iou,
  qemu,
] as const;

export const NODE_TYPES = ALL_KINDS.map(({ type }) => type);
type NodeType = (typeof NODE_TYPES)[number];

/** The kinds whose programs this server cannot drive on any host. Labs and templates with them are kept. */
export const UNAVAILABLE_KINDS: readonly (KeptKind & {
  readonly type: NodeType;
  readonly unavailable: string;
})[] = [traceng, virtualbox, vmware];

const KNOWN = new Map<string, KeptKind>(ALL_KINDS.map((kind) => [kind.type, kind]));
const SERVED = new Map<string, NodeKind>(SERVED_KINDS.map((kind) => [kind.type, kind]));
const SWITCHES = new Set(SWITCH_KINDS.map(({ type }): string => type));
const PROGRAMS = new Set(PROGRAM_KINDS.map(({ type }) => type));

/** The kind of a stored node, whose type has been checked. */
export function kindOfType(type: NodeType): KeptKind {
  const kind = KNOWN.get(type);
  if (kind === undefined) throw new Error(`there is no kind of node '${type}'`);
  return kind;
}

export function servedKind(type: string): NodeKind | undefined {
  return SERVED.get(type);
}

export function isSwitchKind(kind: NodeKind): kind is SwitchKind {
  return SWITCHES.has(kind.type);
}

export function isProgramKind(kind: KeptKind): kind is ProgramKind {
  return PROGRAMS.has(kind.type);
}

/** The built-in templates, in the order in which clients read them. */
export const BUILTIN_TEMPLATES = ALL_KINDS.flatMap(({ type, builtinTemplate }: KeptKind) =>
  builtinTemplate === undefined ? [] : [{ type, ...builtinTemplate }],
)
  .sort((a, b) => a.rank - b.rank)
  .map(({ type, template }) => ({ template_type: type, ...template }));
