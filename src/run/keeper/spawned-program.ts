/** A program in the keeper: its process, its console, and the last of its output. */
import type { ChildProcess } from 'node:child_process';
import { launch } from './launcher.js';
import { MemoryKills } from './memory-kills.js';
import type { SpawnOrder } from './messages.js';
import { OutputRing } from './output-ring.js';
import { newConsole, type ProgramConsole } from './program-console.js';
import type { ProgramEnd, ProgramSignal } from './program.js';

/** When the process has gone, its output may come for so long: others may have its console open. */
const LAST_OUTPUT_MS = 300;

let memoryKills: MemoryKills | undefined;

export class SpawnedProgram {
  readonly id: string;
  readonly memo: string;
  readonly project: string | undefined;
  readonly endsWithServer: boolean;
  readonly pid: number;
  readonly ring = new OutputRing();
  /** The output at a console that a server has opened, not this process; the server tells it. */
  readonly remembered = new OutputRing();
  readonly #child: ChildProcess;
  readonly #console: ProgramConsole;
  #hasExited = false;
  #end: ProgramEnd | undefined;

  /** `changed` is called when it has printed, and when it has ended. Rejects with a sentence for the user. */
  static async start(
    order: SpawnOrder,
    mark: string,
    changed: (program: SpawnedProgram) => void,
  ): Promise<SpawnedProgram> {
    const console = newConsole(order.console);
    memoryKills ??= new MemoryKills();
    try {
      const child = await launch(order, mark, console.stdio, console.terminal);
      if (child.pid === undefined) throw new Error('The process has no id');
      return new SpawnedProgram(order, child, child.pid, console, changed);
    } catch (error) {
      console.close();
      throw error;
    }
  }

  private constructor(
    { id, memo, project, endsWithServer = false }: SpawnOrder,
    child: ChildProcess,
    pid: number,
    console: ProgramConsole,
    changed: (program: SpawnedProgram) => void,
  ) {
    this.id = id;
    this.memo = memo;
    this.project = project;
    this.endsWithServer = endsWithServer;
    this.pid = pid;
    this.#child = child;
    this.#console = console;
    let end: ProgramEnd | undefined;
    let isSilent = false;
    const endWhenSilent = (): void => {
      if (end === undefined || !isSilent || this.#end !== undefined) return;
      this.#end = end;
      changed(this);
    };
    const printed = (bytes: Uint8Array): void => {
      this.ring.push(bytes);
      changed(this);
    };
    console.attach(child, printed, () => {
      isSilent = true;
      endWhenSilent();
    });
    child.once('exit', (code, signal) => {
      // The group is there as long as one of it is: nothing of it outlives its leader.
      this.kill('SIGKILL');
      this.#hasExited = true;
      const isOutOfMemory = signal === 'SIGKILL' && memoryKills?.has(this.pid) === true;
      end = { code, signal, ...(isOutOfMemory ? { isOutOfMemory } : {}) };
      setTimeout(() => {
        console.close();
      }, LAST_OUTPUT_MS).unref();
      endWhenSilent();
    });
  }

  /** Set when the process has gone and all of its output is in the ring. */
  get end(): ProgramEnd | undefined {
    return this.#end;
  }

  get isRunning(): boolean {
    return !this.#hasExited;
  }

  write(bytes: Uint8Array): void {
    this.#console.write(bytes);
  }

  resize(columns: number, rows: number): void {
    this.#console.resize(columns, rows);
  }

  kill(signal: ProgramSignal): void {
    if (this.#hasExited) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // The whole group has gone.
    }
  }

  /** Lets the keeper end although the process may not have gone yet. */
  release(): void {
    this.#child.unref();
    this.#console.close();
  }
}
