/**
 * The contract of a kind of program node: what it does in its own way. Its status, its turns, its wiring to the engine and
 * its console are the same for all kinds, and are in `program-node.ts`.
 */
import type { Socket } from 'node:net';
import type { DeviceSettings } from '../../engine/forwarding/orders.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import type { NodeConsoleType } from '../../lab/kinds/console-types.js';
import type { CustomAdapter } from '../../lab/kinds/custom-adapters.js';
import type { ProgramKind, Properties } from '../../lab/kinds/node-kind.js';
import type { KeptMemory, RunEnd, SavedMemory } from '../../lab/lab-run.js';
import type { ConsoleSource } from '../consoles/console-hub.js';
import type { ConsoleOpener } from '../consoles/socket-relay.js';
import type { Program, ProgramEnd } from '../keeper/keeper.js';
import type { KeptNode, NodeMemo } from './kept-programs.js';
import type { AdapterWire } from '../links/udp-ports.js';

/** Whether this host can run nodes of a kind. */
export type Ability =
  | { readonly isAble: true }
  | { readonly isAble: false; readonly why: string; readonly debianPackage?: string };

/** The project of a node. */
export interface NodeProject {
  readonly id: string;
  readonly name: string;
  readonly folder: string;
  /** Whether a controller elsewhere has made it, which may have nodes on other hosts. */
  readonly isOfOthers?: boolean;
}

/** The node, as its machine may read it at any time. */
export interface MachineNode {
  readonly id: string;
  readonly name: string;
  readonly home: NodeProject;
  readonly properties: Properties;
  /** The adapters that have a type or an address of their own. */
  readonly customAdapters: readonly CustomAdapter[];
  /** The folder of the node below the folder of its project. */
  readonly folder: string;
  readonly consoleType: NodeConsoleType | undefined;
  /** Null for a node without a console, and when all numbers are taken. */
  readonly consolePort: number | null;
  /** The network of its programs, for the confinement of their orders. */
  readonly network: string | undefined;
}

/**
 * A node, as its machine uses it from a start to the end of that run. Ports are given by their index among the ports
 * of the node. All that is opened here is closed when the run has ended.
 */
export interface NodeHost {
  /** Opens a pair of UDP ports for each of these ports of the node. The first call makes its network if that is its own. */
  openUdp(indexes: readonly number[]): Promise<readonly AdapterWire[]>;
  /** A connection to a TCP port that a program of the node has on the loopback of its network. */
  connect(port: number): Promise<Socket>;
  /**
   * The memo of the program, from which a later server can take it over. Ask when all ports are open. `own` is JSON for the
   * kind itself.
   */
  memo(commandLine: string, own?: unknown): NodeMemo;
  /** Attaches an endpoint of another form to a port of the node, and closes it in the end. */
  attach(index: number, endpoint: PortEndpoint): Promise<void>;
  /** Whether a link is at the port and not suspended. */
  isPlugged(index: number): boolean;
  /** Whether the node at the far end of the link runs; true as well when nothing is known of it. */
  isFarNodeUp(index: number): boolean;
  /** Called when the guest was suspended or resumed by something else than the machine. */
  statusChanged(status: 'started' | 'suspended'): void;
  /** Called when the files of the node have changed: its listeners are told. */
  changed(): void;
  /** Called when somebody uses a console of the node that the host does not serve. */
  used(): void;
  /** This and the next tell the listeners of the project. */
  warn(message: string): void;
  inform(message: string): void;
}

/** The console of a run. A `Program` of the keeper with a terminal is one. */
export interface MachineConsole extends ConsoleSource {
  /** The last 64 KiB that were printed. */
  readonly output: Uint8Array;
  listen(listener: (bytes: Uint8Array) => void): () => void;
}

/** How a run is part of a snapshot: its guest stands still, its memory is saved, and it goes on. */
export interface RunMemory {
  /**
   * The most bytes that its memory takes, or the reason why its disks alone are saved. Refuses (409) a run that cannot be
   * in a snapshot.
   */
  estimate(): Promise<{ readonly bytes: number } | { readonly why: string }>;
  /** From here on the guest does nothing and all that it has written is in its files. */
  pause(): Promise<void>;
  /** Saves the memory of the paused guest in a new file. */
  save(path: string): Promise<SavedMemory>;
  resume(): Promise<void>;
}

/**
 * Why a run is ended: by its owner, in order to be started again, because the time of its lab is over, or because its node ends.
 * In the third case it saves the memory of its guest, if it can.
 */
export type StopReason = 'asked' | 'restart' | 'put away' | RunEnd;

/** A machine that runs. */
export interface Run {
  readonly commandLine: string;
  /** Whether a machine that was taken over is suspended. */
  readonly isSuspended?: boolean;
  /** Resolves when it has ended, for whatever reason; never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** The last that its program printed: it says why it has ended. */
  readonly output: Uint8Array;
  /** Absent for a node without a telnet console. */
  readonly console: MachineConsole | undefined;
  /** Opens a connection for each client of the console port; for consoles other than telnet. */
  readonly openConsole?: ConsoleOpener;
  /** Ends it, without waiting for its guest when its node ends. Resolves when nothing of it runs. */
  stop(reason: StopReason): Promise<void>;
  /** Absent for a kind that cannot be suspended. */
  suspend?(): Promise<void>;
  resume?(): Promise<void>;
  /** The program, when the server may let it stand still although clients cannot suspend its kind. */
  readonly haltable?: Pick<Program, 'kill'>;
  /** Absent for a kind that is stopped and started instead. */
  reload?(): Promise<void>;
  /** Called when properties of the node have changed. Absent for a kind whose properties act at the next start. */
  update?(): Promise<void>;
  /** Plugs the cable of a port in, or pulls it; also called when `isFarNodeUp` of it may be another. Absent for a kind whose adapters have no carrier. */
  cable?(index: number, isPlugged: boolean): Promise<void>;
  /** Absent for a kind whose guests cannot stand still. */
  readonly memory?: RunMemory;
}

export interface Machine {
  /** The device between the program and its links, when it is no patch. Links are at its odd ports. Read at each start. */
  readonly device?: DeviceSettings;
  /** Does what may take long before each start, such as a download. Refuses (409) what cannot run. */
  prepare?(host: Pick<NodeHost, 'inform'>): Promise<void>;
  /**
   * The memory that was saved when the node was stopped; undefined without one that fits, of which it warns. Absent for a
   * kind that saves none.
   */
  savedMemory?(host: Pick<NodeHost, 'warn'>): Promise<KeptMemory | undefined>;
  /**
   * Refuses (409) what cannot run; nothing is left of it then, but for what the host closes. The inputs are those that
   * the kind takes with a start. With a memory, which only a kind that saves any is given, the guest goes on from there.
   */
  start(host: NodeHost, inputs: Properties, memory?: KeptMemory): Promise<Run>;
  /**
   * Takes over the programs of an earlier server; the host has opened their UDP ports. No link is there yet: cables are
   * told when all are. Absent for a kind whose programs end with the server. When it rejects, the programs are killed.
   */
  adopt?(kept: KeptNode, host: NodeHost): Promise<Run>;
  /** Called when the node has another name. Nothing runs. Absent for a kind that has its name from each start. */
  renamed?(): Promise<void>;
  /** Called last: gives back what belongs to the node. Nothing runs any more. */
  release(): void | Promise<void>;
}

/** A kind of node that is a program, as this host runs it. */
export interface ProgramRunner {
  readonly kind: ProgramKind;
  /**
   * Where its nodes have their network when programs are confined; all of its orders then ask for confinement. Absent for
   * a kind that cannot be confined.
   */
  readonly confinement?: { readonly network: 'own' | 'host' };
  /**
   * Whether its nodes have nothing but their files, so that they may run while a snapshot is made. Nodes of another kind must be
   * held or stopped.
   */
  readonly hasFilesOnly?: true;
  /** Never rejects. */
  probe(): Promise<Ability>;
  /** Refuses (409) a node for which the project has no room. */
  newMachine(node: MachineNode): Machine;
}
