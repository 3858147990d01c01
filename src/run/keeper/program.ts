/** A program of a node, as the server sees it. The keeper, a process of its own, has started it and holds its console. */

/** Programs give way to the server, whether or not the host bounds them otherwise. */
export const USUAL_NICENESS = 5;

/** Where programs are looked for whose environment has no PATH. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface ProgramOrder {
  /** Names the program among all of the keeper's: the id of its node, with a suffix for helpers such as `/tpm`. */
  readonly id: string;
  /** A path, or a name that is looked for in the PATH of its environment. */
  readonly command: string;
  readonly args: readonly string[];
  /** The working folder. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** USUAL_NICENESS without it. */
  readonly niceness?: number;
  /** The most that it may take, where `Keeper.limitsCpu`: 100 is one core. */
  readonly cpuPercent?: number | undefined;
  /** 'terminal': a terminal of its own is its input and output. 'pipes': input and output are pipes. */
  readonly console: 'terminal' | 'pipes';
  /** The programs of a project share what the host bounds; those without one share it, too. */
  readonly project?: string | undefined;
  /** Without it the program has the rights of the server. */
  readonly confinement?: ProgramConfinement | undefined;
  /** Handed back to the next server that takes the program over. JSON. */
  readonly memo: unknown;
  /** The program is of no use to another server: it ends with this one, whatever the grace is. */
  readonly endsWithServer?: boolean;
}

/** How far a program is kept from the rest of the host, where the server has the privilege for that. */
export interface ProgramConfinement {
  /** The network of its node; without one it has that of the host. */
  readonly network?: string | undefined;
  /** Folders and files of its node, its working folder among them: they are given to its user. */
  readonly writable: readonly string[];
  /** Files and folders, such as images, and the program itself if it is one of the server's files. */
  readonly readable: readonly string[];
  /** Writable folders that it sees at other places, whose folders look empty otherwise. */
  readonly moved?: readonly { readonly path: string; readonly at: string }[] | undefined;
  /** Such as `/dev/kvm`: it gets the group of each, where the group may use the device. */
  readonly devices?: readonly string[] | undefined;
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The kernel has killed it because memory ran out. */
  readonly isOutOfMemory?: true;
}

export type ProgramSignal = 'SIGTERM' | 'SIGKILL' | 'SIGHUP' | 'SIGINT' | 'SIGSTOP' | 'SIGCONT';

export interface Program {
  readonly id: string;
  readonly pid: number;
  readonly memo: unknown;
  /** The last 64 KiB of what earlier servers told the keeper to remember. */
  readonly remembered: Uint8Array;
  /** Resolves when the process has gone; never rejects. */
  readonly ended: Promise<ProgramEnd>;
  readonly isRunning: boolean;
  /** The last 64 KiB that it printed, as far as they have come here. */
  readonly output: Uint8Array;
  /** Input of a program that does not read is bounded: beyond 256 KiB that wait, what comes is dropped. */
  write(bytes: Uint8Array): void;
  /** Call with what the program prints elsewhere than here: the next server has it, if programs outlive this one. */
  remember(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  /** It holds something that another process does, such as the first one of a container: that one is measured. */
  standsFor(pid: number): void;
  /** To the whole process group. */
  kill(signal: ProgramSignal): void;
  /** Console output from now on. The returned function ends it. */
  listen(listener: (bytes: Uint8Array) => void): () => void;
}
