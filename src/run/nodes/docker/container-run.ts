/** A container that runs, with all that runs beside it. */
import type { PortEndpoint } from '../../../engine/forwarding/transport.js';
import type { ConsoleOpener } from '../../consoles/socket-relay.js';
import type { Program, ProgramEnd } from '../../keeper/keeper.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { Run, StopReason } from '../machine.js';
import type { ContainerConsole } from './container-console.js';
import { savingCommand } from './container-settings.js';
import { DockerError } from './docker-client.js';
import type { DockerEngine } from './docker-engine.js';

/** A container that was asked to end is killed after so many seconds. */
const GRACE_SECONDS = 5;
/** An engine that cannot be asked about a container for so long has ended, and its containers with it. */
const LOST_LOOKS = 20;
const LOST_LOOK_MS = 250;
const UNKNOWN_END: ProgramEnd = { code: null, signal: null };

interface ContainerParts {
  readonly id: string;
  readonly commandLine: string;
  readonly console: ContainerConsole;
  /** The TAPs of the adapters. */
  readonly endpoints: readonly PortEndpoint[];
  readonly guard: Program;
  /** For a console other than telnet. */
  readonly openConsole: ConsoleOpener | undefined;
  /** They are closed when the container has ended. */
  readonly helpers: readonly ContainerHelper[];
}

/** Something that runs beside a container, such as its display. */
export interface ContainerHelper {
  close(): Promise<void> | void;
}

interface RunServices {
  readonly engine: DockerEngine;
  readonly sockets: Pick<NioSockets, 'setCarrier'>;
}

export class ContainerRun implements Run {
  readonly commandLine: string;
  readonly console: ContainerConsole;
  readonly openConsole?: ConsoleOpener;
  readonly ended: Promise<ProgramEnd>;
  readonly #id: string;
  readonly #parts: ContainerParts;
  readonly #guard: Program;
  readonly #services: RunServices;
  #isPaused = false;
  #hasEnded = false;

  constructor(services: RunServices, parts: ContainerParts) {
    const { id, commandLine, console, guard, openConsole } = parts;
    this.#id = id;
    this.commandLine = commandLine;
    this.console = console;
    if (openConsole !== undefined) this.openConsole = openConsole;
    this.#parts = parts;
    this.#guard = guard;
    this.#services = services;
    this.ended = this.#follow();
    // Something has killed it, or the keeper: nothing would end the container with the server.
    void guard.ended.then(() => this.#kill());
  }

  get output(): Uint8Array {
    return this.console.output;
  }

  async stop(reason: StopReason): Promise<void> {
    const { engine } = this.#services;
    try {
      if (this.#isPaused) await this.resume();
      const [user, group] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
      await engine.run(this.#id, savingCommand(user, group)).catch(() => undefined);
      await engine.stop(this.#id, reason === 'asked' || reason === 'restart' ? GRACE_SECONDS : 0);
    } catch {
      await this.#kill();
    }
    await this.ended;
  }

  async suspend(): Promise<void> {
    await this.#services.engine.pause(this.#id);
    this.#isPaused = true;
  }

  async resume(): Promise<void> {
    await this.#services.engine.unpause(this.#id);
    this.#isPaused = false;
  }

  cable(index: number, isPlugged: boolean): Promise<void> {
    const endpoint = this.#parts.endpoints[index];
    return new Promise((resolve) => {
      if (endpoint !== undefined) this.#services.sockets.setCarrier(endpoint, isPlugged);
      resolve();
    });
  }

  async #follow(): Promise<ProgramEnd> {
    const end = await this.#waitForEnd();
    this.#hasEnded = true;
    await this.console.closed;
    for (const helper of this.#parts.helpers) await helper.close();
    this.#guard.kill('SIGKILL');
    await this.#guard.ended;
    return end;
  }

  /** An engine that was started again may have kept the container. */
  async #waitForEnd(): Promise<ProgramEnd> {
    const { engine } = this.#services;
    for (let look = 0; look < LOST_LOOKS; look++) {
      try {
        return { code: await engine.ended(this.#id), signal: null };
      } catch (error) {
        // It was removed.
        if (error instanceof DockerError && error.status !== 0) return UNKNOWN_END;
      }
      await new Promise((resolve) => setTimeout(resolve, LOST_LOOK_MS));
    }
    return UNKNOWN_END;
  }

  async #kill(): Promise<void> {
    if (!this.#hasEnded) await this.#services.engine.kill(this.#id).catch(() => undefined);
  }
}
