/** A guest that runs: the process of QEMU, the socket by which it is controlled, and its serial console. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsoleOpener } from '../../consoles/socket-relay.js';
import type { ComputeFiles } from '../../files.js';
import type { Program, ProgramEnd } from '../../keeper/keeper.js';
import { endProgram } from '../keeper-programs.js';
import type { MachineNode, NodeHost, Run, RunMemory, StopReason } from '../machine.js';
import { connectProgram } from './program-socket.js';
import { QmpClient } from './qmp.js';
import { SerialConsole } from './serial-console.js';

/** QEMU listens after a fraction of a second, unless the host has a lot to do. */
const MEETING_LIMIT_MS = 60_000;
const MEETING_LOOK_MS = 20;
/** A guest that was asked to shut down is waited for. */
const SHUTDOWN_LIMIT_MS = 120_000;
/** A program without its control socket that does not end by then is ended. */
const CONTROL_LIMIT_MS = 3000;

/** The name by which QEMU knows the serial port. */
const FIRST_SERIAL_PORT = 'serial0';

/** Undoes a part of a start. */
export type EndStep = () => Promise<void> | void;

interface QemuRunParts {
  readonly files: ComputeFiles;
  readonly node: MachineNode;
  readonly host: NodeHost;
  readonly commandLine: string;
  readonly program: Program;
  readonly control: QmpClient;
  readonly console: SerialConsole | undefined;
  readonly memory: RunMemory;
  /** Saves the memory for the next start. Never rejects. */
  readonly saveMemory: () => Promise<void>;
  /** The socket of a console other than telnet. */
  readonly consoleSocket: string | undefined;
  readonly isSuspended: boolean;
  /** Whether the carrier of adapters follows their links and the nodes at their far ends. */
  readonly hasCarrier: boolean;
  /** Taken from the last to the first when the program has ended. */
  readonly endSteps: readonly EndStep[];
}

export class QemuRun implements Run {
  readonly commandLine: string;
  readonly console: SerialConsole | undefined;
  readonly openConsole?: ConsoleOpener;
  readonly isSuspended: boolean;
  readonly ended: Promise<ProgramEnd>;
  readonly memory: RunMemory;
  readonly #parts: QemuRunParts;
  #saved: Promise<void> | undefined;

  constructor(parts: QemuRunParts) {
    const { commandLine, program, control, console, memory, consoleSocket, endSteps } = parts;
    this.#parts = parts;
    this.commandLine = commandLine;
    this.console = console;
    this.isSuspended = parts.isSuspended;
    this.memory = memory;
    if (consoleSocket !== undefined) this.openConsole = () => connectProgram(parts.files, consoleSocket);
    this.ended = program.ended.then(async (end) => {
      await undo(endSteps);
      return end;
    });
    // A machine that cannot be controlled must not go on.
    void control.closed.then(async () => {
      if (!(await endsWithin(program, CONTROL_LIMIT_MS))) await endProgram(program);
    });
  }

  get output(): Uint8Array {
    return this.#parts.program.output;
  }

  async stop(reason: StopReason): Promise<void> {
    const { node, program, saveMemory } = this.#parts;
    const { on_close: wanted } = node.properties;
    const isPatient = reason === 'asked' || reason === 'restart';
    const goesOn = reason === 'asked' || reason === 'closing';
    if (wanted === 'shutdown_signal' && isPatient) await this.#shutDown();
    if ((wanted === 'save_vm_state' && goesOn) || reason === 'put away') await (this.#saved ??= saveMemory());
    await endProgram(program);
    await this.ended;
  }

  async suspend(): Promise<void> {
    await this.#parts.control.execute('stop');
  }

  async resume(): Promise<void> {
    await this.#parts.control.execute('cont');
  }

  async reload(): Promise<void> {
    await this.#parts.control.execute('system_reset');
  }

  async cable(index: number): Promise<void> {
    const { control, host, hasCarrier } = this.#parts;
    if (hasCarrier) await setCarrier(control, host, index);
  }

  /** Presses the power button and waits for the guest. It may have no handler for that, or be long about it. */
  async #shutDown(): Promise<void> {
    const { control, program } = this.#parts;
    try {
      // A guest that is suspended notices nothing.
      await control.execute('cont');
      await control.execute('system_powerdown');
    } catch {
      return;
    }
    await endsWithin(program, SHUTDOWN_LIMIT_MS);
  }
}

/** The sockets of a machine in their folder. That of its memory does not exist until it is needed. */
export function socketsIn(folder: string): Record<'qmp' | 'console' | 'tpm' | 'memory', string> {
  const at = (name: string): string => join(folder, name);
  return { qmp: at('qmp'), console: at('console'), tpm: at('tpm'), memory: at('memory') };
}

/** The socket by which QEMU shares the memory of its guest for an adapter. */
export function adapterSocket(folder: string, index: number): string {
  return join(folder, `nic${index}`);
}

/** An adapter of the guest has its carrier while there is a link that is not suspended, and the node at its far end runs. */
export async function setCarrier(
  control: QmpClient,
  host: Pick<NodeHost, 'isPlugged' | 'isFarNodeUp'>,
  index: number,
): Promise<void> {
  const up = host.isPlugged(index) && host.isFarNodeUp(index);
  await control.execute('set_link', { name: `gns3-${index}`, up });
}

/** Takes the steps from the last to the first, also when one fails. */
export async function undo(steps: readonly EndStep[]): Promise<void> {
  for (const step of steps.toReversed()) {
    try {
      await step();
    } catch {
      // The others are taken all the same.
    }
  }
}

/** Resolves when QEMU takes commands, or with undefined when its program ends before. */
export async function meetQemu(
  files: ComputeFiles,
  program: Program,
  path: string,
  onEvent: (name: string, data: Readonly<Record<string, unknown>>) => void,
  limitMs = MEETING_LIMIT_MS,
): Promise<QmpClient | undefined> {
  const begun = performance.now();
  while (program.isRunning) {
    try {
      return await QmpClient.open(await connectProgram(files, path), { onEvent });
    } catch (error) {
      if (performance.now() - begun > limitMs) throw error;
    }
    await sleep(MEETING_LOOK_MS);
  }
  return undefined;
}

/** Connects to the serial port; a break goes over the control socket. */
export async function openSerial(
  files: ComputeFiles,
  program: Program,
  control: QmpClient,
  path: string,
): Promise<SerialConsole> {
  return new SerialConsole(await connectProgram(files, path), program, () => {
    control.execute('chardev-send-break', { id: FIRST_SERIAL_PORT }).catch(() => undefined);
  });
}

/** Returns a listener for what QEMU tells of a guest by itself. */
export function eventsOf(name: string, host: NodeHost) {
  return (event: string, data: Readonly<Record<string, unknown>>): void => {
    if (event === 'STOP') host.statusChanged('suspended');
    if (event === 'RESUME') host.statusChanged('started');
    if (event === 'BLOCK_IO_ERROR' && data['action'] === 'stop')
      host.warn(`${name} is suspended, because a disk of it failed: ${String(data['reason'])}`);
  };
}

async function endsWithin(program: Program, milliseconds: number): Promise<boolean> {
  const over = new AbortController();
  const patience = sleep(milliseconds, false, { signal: over.signal }).catch(() => true);
  const hasEnded = await Promise.race([program.ended.then(() => true), patience]);
  over.abort();
  return hasEnded;
}
