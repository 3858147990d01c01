/**
 * The contract of a kind of node. Everything that distinguishes a kind is in one file of this folder, and
 * `node-kinds.ts` lists all kinds. A switch kind also has a device in `engine/devices`.
 */
import type { z } from 'zod';
import type { DeviceKind } from '../../engine/devices/device-kinds.js';
import type { DeviceSettings } from '../../engine/forwarding/orders.js';
import type { PcapLinkType } from '../../engine/wire/pcap.js';
import type { LinkMedium, NodePort } from './port.js';
import type { BuiltinTemplate, TemplateRules } from './template.js';

export type Properties = Readonly<Record<string, unknown>>;

/** A kind whose nodes this server keeps in labs. It runs only those of a `NodeKind`. */
export interface KeptKind {
  readonly type: string;
  /** A node of the kind runs for as long as its project is open, and writes nothing to the project's files. */
  readonly alwaysRuns: boolean;
  /** The names of properties whose values name image files of the emulator of this kind. */
  readonly imageProperties: readonly string[];
  /** The content of a node lies outside of the project's folder, so that the project cannot be exported. */
  readonly keepsContentElsewhere: boolean;
  /** The built-in template of the kind, and its rank in the list of built-in templates. */
  readonly builtinTemplate?: { readonly rank: number; readonly template: BuiltinTemplate };
}

/** A kind that this server runs. */
export interface NodeKind extends KeptKind {
  /** The name for clients with its article: `an ATM switch`. */
  readonly title: string;
  /** The schema of what a client may send as `properties`; everything is optional, unknown keys are refused. */
  readonly properties: z.ZodObject;
  /** The schema of the properties as the compute shows them. */
  readonly shownProperties: z.ZodRawShape;
  /** The console types of the kind, the default first; none for a kind without a console. */
  readonly consoleTypes: readonly ('telnet' | 'none')[];
  readonly template: TemplateRules;
  /** The medium of all ports. */
  readonly medium: LinkMedium;
  /** Returns the complete properties of a new node. Refuses (409) properties that cannot work. */
  create(given: Properties): Properties;
  /** Returns the properties after a change; `current` may be older than the present rules. */
  update(current: Properties, given: Properties, isConnected: boolean): Properties;
  /** Never throws, whatever was stored once. */
  ports(properties: Properties): NodePort[];
}

/** A kind that is a device on an engine. */
export interface SwitchKind extends NodeKind {
  readonly type: DeviceKind;
  /** The form in which captures record frames by default. Filter expressions are compiled for its link type. */
  readonly capture: { readonly linkType: PcapLinkType; readonly packets: 'frames' | 'aal5' };
  /** The unit in which connections of the mappings are counted; undefined for a kind without mappings. */
  readonly connectionUnit: 'cells' | 'frames' | undefined;
  /** The tables of the running device that clients may read. */
  readonly tables: readonly DeviceTable[];
  /** Whether a link may be attached at this port number. */
  canAttach(properties: Properties, port: number): boolean;
  /** Throws a RangeError when the engine has no room for the counters. */
  deviceSettings(properties: Properties, options: DeviceOptions): DeviceSettings;
}

export interface DeviceOptions {
  /** ATM switches drop cells whose header error control is wrong. */
  readonly refusesBadHec: boolean;
  /** Returns where the counters of these connections lie, in their order. */
  readonly countersOf: (names: readonly string[]) => readonly number[];
}

export interface DeviceTable {
  /** The last part of its path. */
  readonly name: string;
  /** A noun in the plural for its rows. */
  readonly contents: string;
  readonly schema: z.ZodType;
  /** Makes the rows that clients read from the answer of the device. */
  readonly rows: (inspected: unknown) => unknown;
}
