/**
 * The contract of a kind of program node: what it does in its own way. Its status, its turns, its wiring to the engine and
 * its console are the same for all kinds, and are in `program-node.ts`.
 */
import type { ProgramKind, Properties } from '../../lab/kinds/node-kind.js';
import type { ConsoleSource } from '../consoles/console-hub.js';
import type { Program } from '../keeper/keeper.js';

/** Whether this host can run nodes of a kind. */
export type Ability =
  | { readonly isAble: true }
  | { readonly isAble: false; readonly why: string; readonly debianPackage: string };

/** The project of a node. */
export interface NodeProject {
  readonly id: string;
  readonly name: string;
  readonly folder: string;
}

/** The node, as its machine may read it at any time. */
export interface MachineNode {
  readonly id: string;
  readonly name: string;
  readonly home: NodeProject;
  readonly properties: Properties;
  /** The folder of the node below the folder of its project. */
  readonly folder: string;
}

/** The pair of UDP ports on 127.0.0.1 between an adapter of the program and the engine. */
export interface AdapterWire {
  readonly programPort: number;
  readonly enginePort: number;
}

export interface Started {
  /** The node runs for as long as this program does. */
  readonly program: Program;
  /** Takes what is typed at the console. */
  readonly source: ConsoleSource;
  readonly commandLine: string;
}

export interface Machine {
  /** The wires are in the order of the ports of the node. Refuses (409) what cannot run; nothing is left of it then. */
  start(wires: readonly AdapterWire[]): Promise<Started>;
  /** Ends the programs. Resolves when nothing runs. */
  stop(started: Started): Promise<void>;
  /** Absent for a kind that cannot be suspended. */
  suspend?(started: Started): Promise<void>;
  resume?(started: Started): Promise<void>;
  /** Called last: gives back what belongs to the node. Nothing runs any more. */
  release(): void;
}

/** A kind of node that is a program, as this host runs it. */
export interface ProgramRunner {
  readonly kind: ProgramKind;
  /** Never rejects. */
  probe(): Promise<Ability>;
  /** Refuses (409) a node for which the project has no room. */
  newMachine(node: MachineNode): Machine;
}
