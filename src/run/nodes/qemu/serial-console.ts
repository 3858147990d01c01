/**
 * The serial port of a guest: a Unix socket of QEMU. QEMU drops what a guest prints while nobody is connected, and stops
 * the guest when what is connected does not read; so this connects before the guest runs, and reads for as long as it does.
 */
import type { Socket } from 'node:net';
import { OutputRing } from '../../keeper/output-ring.js';
import type { Program } from '../../keeper/program.js';
import type { MachineConsole } from '../machine.js';

/** More input than this waits for no guest. */
const MOST_UNREAD = 256 * 1024;

export class SerialConsole implements MachineConsole {
  readonly #socket: Socket;
  readonly #ring = new OutputRing();
  readonly #listeners = new Set<(bytes: Uint8Array) => void>();
  readonly #break: () => void;

  /** It closes the socket, which is connected. Its output begins with what the program has remembered. */
  constructor(socket: Socket, program: Pick<Program, 'remember' | 'remembered'>, sendBreak: () => void) {
    this.#socket = socket;
    this.#break = sendBreak;
    this.#ring.push(program.remembered);
    socket.on('data', (bytes: Buffer) => {
      this.#ring.push(bytes);
      program.remember(bytes);
      for (const listener of this.#listeners) listener(bytes);
    });
    socket.on('error', () => undefined);
  }

  get output(): Uint8Array {
    return this.#ring.content;
  }

  write(bytes: Uint8Array): void {
    const { destroyed, writableLength } = this.#socket;
    if (!destroyed && writableLength + bytes.length <= MOST_UNREAD) this.#socket.write(bytes);
  }

  sendBreak(): void {
    this.#break();
  }

  listen(listener: (bytes: Uint8Array) => void): () => void {
    // The same function may listen twice.
    const own = (bytes: Uint8Array): void => {
      listener(bytes);
    };
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  close(): void {
    this.#socket.destroy();
  }
}
