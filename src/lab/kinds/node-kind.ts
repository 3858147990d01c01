/**
 * A kind of node. Everything that the server knows of a kind stands in the file of that kind, in this folder; the
 * list of all kinds is `node-kinds.ts`.
 */
import type { z } from 'zod';
import type { DeviceKind } from '../../engine/devices/device-kinds.js';
import type { DeviceSettings } from '../../engine/forwarding/orders.js';
import type { PcapLinkType } from '../../engine/wire/pcap.js';
import type { LinkMedium, NodePort } from './port.js';
import type { BuiltinTemplate, TemplateRules } from './template.js';

export type Properties = Readonly<Record<string, unknown>>;

/** A kind that labs may contain. This server keeps nodes of such a kind; it runs those of a `NodeKind` only. */
export interface KeptKind {
  readonly type: string;
  /** A node of the kind runs for as long as its project is open, and writes nothing to the project's files. */
  readonly alwaysRuns: boolean;
  /** The properties that name image files, in the folder of the emulator that is called like the kind. */
  readonly imageProperties: readonly string[];
  /** The content of a node lies outside of the project's folder, so that the project cannot be exported. */
  readonly keepsContentElsewhere: boolean;
  /** The template that is there from the start, and its place in the list of these. */
  readonly builtinTemplate?: { readonly rank: number; readonly template: BuiltinTemplate };
}

/** A kind that this server runs. */
export interface NodeKind extends KeptKind {
  /** What clients call one, with its article: `an ATM switch`. */
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
  /** How captures record frames, unless a client asks for another form. Filter expressions are compiled for it. */
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
  /** What its rows are, in the plural. */
  readonly contents: string;
  readonly schema: z.ZodType;
  /** Turns what the device tells of itself into the rows that clients read. */
  readonly rows: (inspected: unknown) => unknown;
}
