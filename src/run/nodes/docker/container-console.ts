/** The console of a container: a connection to its terminal that the engine holds. Its output is always read. */
import type { Socket } from 'node:net';
import { Scrollback } from '../../consoles/scrollback.js';
import type { MachineConsole } from '../machine.js';
import type { ContainerTerminal } from './docker-engine.js';

/** More input than this waits for no container. */
const MOST_INPUT = 256 * 1024;
/** When a container has ended, the last of its output may come for so long. */
const LAST_OUTPUT_MS = 500;

export class ContainerConsole implements MachineConsole {
  readonly #socket: Socket;
  readonly #fit: ContainerTerminal['fit'];
  readonly #scrollback = new Scrollback();
  readonly #listeners = new Set<{ readonly listener: (bytes: Uint8Array) => void }>();

  constructor({ socket, fit }: ContainerTerminal) {
    this.#socket = socket;
    this.#fit = fit;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Uint8Array) => {
      this.#scrollback.add(bytes);
      for (const { listener } of this.#listeners) listener(bytes);
    });
    socket.once('end', () => {
      socket.destroy();
    });
  }

  get output(): Uint8Array {
    return this.#scrollback.bytes;
  }

  /** Resolves when the connection has ended, at most a moment from now. */
  get closed(): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const patience = setTimeout(() => {
        this.close();
      }, LAST_OUTPUT_MS);
      this.#socket.once('close', () => {
        clearTimeout(patience);
        resolve();
      });
    });
  }

  write(bytes: Uint8Array): void {
    const socket = this.#socket;
    if (!socket.destroyed && socket.writableLength + bytes.length <= MOST_INPUT) socket.write(bytes);
  }

  resize(columns: number, rows: number): void {
    // A container that is ending has no terminal any more.
    this.#fit(columns, rows).catch(() => undefined);
  }

  listen(listener: (bytes: Uint8Array) => void): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  close(): void {
    this.#socket.destroy();
  }
}
