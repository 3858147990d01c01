/**
 * The contract of a kind of node. Everything that distinguishes a kind is in one file of this folder, and
 * `node-kinds.ts` lists all kinds. A switch kind also has a device in `engine/devices`.
 */
import type { z } from 'zod';
import type { DeviceKind } from '../../engine/devices/device-kinds.js';
import type { DeviceSettings } from '../../engine/forwarding/orders.js';
import type { PcapLinkType } from '../../engine/wire/pcap.js';
import type { NodeConsoleType } from './console-types.js';
import type { CloudInterface } from './host-interface.js';
import type { CustomAdapter } from './custom-adapters.js';
import type { LinkMedium, NodePort } from './port.js';
import type { BuiltinTemplate, TemplateRules } from './template.js';

export type Properties = Readonly<Record<string, unknown>>;

/** The settings of a node that its ports follow from. */
export interface PortOwner {
  readonly nodeId: string;
  readonly properties: Properties;
  readonly portNameFormat: string;
  readonly portSegmentSize: number;
  readonly firstPortName: string | null;
  readonly customAdapters: readonly CustomAdapter[];
}

/** The settings that act once, when a node is created. They are not among its properties. */
interface CreationInputs {
  /** The schema of the values, by their names on the compute interface. */
  readonly schema: z.ZodObject;
  /**
   * The names under which templates and clients of the controller give a file of the folder of base configurations,
   * and the value that its content becomes: `base_script_file` becomes `startup_script`.
   */
  readonly files: Readonly<Record<string, string>>;
  /** The base configurations that every server has, unless its folder has others of the same name. */
  readonly baseFiles?: Readonly<Record<string, string>>;
}

/** A kind whose nodes this server keeps in labs. It runs only those of a `NodeKind`. */
export interface KeptKind {
  readonly type: string;
  /** A node of the kind runs for as long as its project is open, and writes nothing to the project's files. */
  readonly alwaysRuns: boolean;
  /** The names of properties whose values name image files of the emulator of this kind. */
  readonly imageProperties: readonly string[];
  /** The content of a node lies outside of the project's folder, so that the project cannot be exported. */
  readonly keepsContentElsewhere: boolean;
  /** Why no host can run nodes of the kind, where this is certain: a sentence. */
  readonly unavailable?: string;
  /** How ports are named and numbered unless a client says otherwise; absent for a kind that names them itself. */
  readonly portNaming?: { readonly format: string; readonly segmentSize: number };
  /** The medium of the ports. In a kind with both, that of ports which are not in the list. */
  readonly medium: LinkMedium;
  /** The form in which captures record frames by default. Filter expressions are compiled for its link type. */
  readonly capture: { readonly linkType: PcapLinkType; readonly packets: 'frames' | 'aal5' };
  readonly template: TemplateRules;
  /** The built-in template of the kind, and its rank in the list of built-in templates. */
  readonly builtinTemplate?: { readonly rank: number; readonly template: BuiltinTemplate };
  /** Never throws, whatever was stored once. */
  ports(owner: PortOwner): NodePort[];
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
  readonly consoleTypes: readonly NodeConsoleType[];
  /** The settings that only a new node takes; absent for a kind that has none. */
  readonly creation?: CreationInputs;
  /** The properties that belong to one node only: its duplicate does without them, and gets its own. */
  readonly uniqueProperties?: readonly string[];
  /**
   * The property that is a number which no other node of any open project has, and the last such number: they begin at 1.
   * Without a last one it is a port for consoles, or null when all are taken.
   */
  readonly hostNumber?: { readonly property: string; readonly last?: number };
  /** The property that is a number from 1 on which no other node of its project has, and the last such number. */
  readonly projectNumber?: { readonly property: string; readonly last: number };
  readonly cannotBeDuplicated?: true;
  /** A new node follows from the interfaces of the host. */
  readonly usesHostInterfaces?: true;
  /**
   * Returns the complete properties of a new node. Refuses (409) properties that cannot work. Only a kind that uses them
   * is given the interfaces of the host.
   */
  create(given: Properties, nodeId: string, interfaces?: readonly CloudInterface[]): Properties;
  /** Returns the properties after a change; `current` may be older than the present rules. */
  update(current: Properties, given: Properties, isConnected: boolean): Properties;
  /** Refuses (409) settings from which no ports can be made, such as a wrong format of names. */
  checkPorts?(owner: PortOwner): void;
}

/** A kind that is a device on an engine. */
export interface SwitchKind extends NodeKind {
  readonly type: DeviceKind;
  readonly consoleTypes: readonly ('telnet' | 'none')[];
  /** The unit in which connections of the mappings are counted; undefined for a kind without mappings. */
  readonly connectionUnit: 'cells' | 'frames' | undefined;
  /** The tables of the running device that clients may read. */
  readonly tables: readonly DeviceTable[];
  create(given: Properties): Properties;
  /** Whether a link may be attached at this port number. */
  canAttach(properties: Properties, port: number): boolean;
  /** Throws a RangeError when the engine has no room for the counters. */
  deviceSettings(properties: Properties, options: DeviceOptions): DeviceSettings;
}

export interface NodeLoad {
  readonly memoryMib: number;
  readonly processors: number;
}

/** A kind whose nodes are programs. A patch on an engine stands between a program and the links of its node. */
export interface ProgramKind extends NodeKind {
  readonly alwaysRuns: false;
  /** The MiB of memory and the processors that a running node takes; absent for a kind whose settings do not tell. */
  readonly load?: (properties: Properties) => NodeLoad;
  /** The most nodes of the kind in one project; absent when only the project's own limits count. */
  readonly mostInProject?: number;
  /** The schema of what a client of the compute interface may send with a start; a kind without it takes nothing. */
  readonly startInputs?: z.ZodObject;
  /** The files that a new node begins with, by their paths below its folder. */
  firstFiles(name: string, inputs: Properties, properties: Properties): Readonly<Record<string, string>>;
  /** The numbers that the ports of an adapter can have; absent for a kind whose adapters have one port each. */
  readonly portsOfAdapter?: number;
  /** The name, and properties with a noun for each, that cannot change while the program runs. */
  readonly fixedWhileRunning?: {
    readonly name: boolean;
    readonly properties: Readonly<Record<string, string>>;
    /** Whether this change of one of them is possible all the same. */
    readonly except?: (property: string, before: Properties, after: Properties) => boolean;
  };
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
