/**
 * A connection from a server to the keeper. Output is not queued for it: it is read from the rings of the programs when
 * the connection takes more. So a server that reads slowly misses what the rings have forgotten, and costs no memory.
 */
import type { Socket } from 'node:net';
import { FrameReader, frameOf } from './frames.js';
import { isServerMessage, LONGEST_OUTPUT, type KeeperMessage, type ServerMessage } from './messages.js';
import type { SpawnedProgram } from './spawned-program.js';

const LAST_WORDS_MS = 1000;
/** Only when the server is so far behind does output wait in the rings, which forget the oldest of it. */
const MOST_UNSENT = 4 * 1024 * 1024;

interface ServerLinkListener {
  /** May throw: the connection is cut then. */
  received(message: ServerMessage): void;
  /** The server has been told of its end. */
  reported(program: SpawnedProgram): void;
  /** `isFaulty`: it was cut because of what came. */
  closed(isFaulty: boolean): void;
}

export class ServerLink {
  readonly #sink: Socket;
  readonly #listener: ServerLinkListener;
  /** How far the server has the output of each program that it knows. */
  readonly #sent = new Map<SpawnedProgram, number>();
  /** Programs with something to tell; the one whose turn is next comes first. */
  readonly #changed = new Set<SpawnedProgram>();
  #isFaulty = false;

  constructor(sink: Socket, listener: ServerLinkListener) {
    this.#sink = sink;
    this.#listener = listener;
    const reader = new FrameReader();
    sink.on('data', (bytes) => {
      if (this.#isFaulty) return;
      try {
        for (const message of reader.push(bytes)) {
          if (!isServerMessage(message)) throw new Error('no message of a server');
          listener.received(message);
        }
      } catch {
        this.#isFaulty = true;
        sink.destroy();
      }
    });
    sink.on('drain', () => {
      this.#tellMore();
    });
    sink.on('error', () => undefined);
    sink.once('close', () => {
      listener.closed(this.#isFaulty);
    });
  }

  get isOpen(): boolean {
    return !this.#sink.destroyed;
  }

  send(message: KeeperMessage): void {
    if (this.isOpen) this.#sink.write(frameOf(message));
  }

  /** The program was started by this server, so it has all of its output to come. */
  began(program: SpawnedProgram): void {
    this.#sent.set(program, 0);
    this.changed(program);
  }

  /** Tells a new server of what the last one has left. */
  async introduce(programs: Iterable<SpawnedProgram>, controllers: readonly string[]): Promise<void> {
    for (const program of programs) {
      const { id, pid, memo, ring, remembered } = program;
      this.send({ kind: 'kept', id, pid, memo, remembered: remembered.content });
      this.#sent.set(program, ring.start);
      this.#tell(program);
      if (this.#isBehind) await this.#drained();
    }
    this.send({ kind: 'welcome', controllers });
    for (const program of this.#sent.keys()) this.changed(program);
  }

  changed(program: SpawnedProgram): void {
    if (!this.#sent.has(program)) return;
    this.#changed.add(program);
    this.#tellMore();
  }

  /** Waits a while until the messages that were sent have arrived, and closes the connection. */
  finish(): void {
    this.#sink.end();
    setTimeout(() => {
      this.#sink.destroy();
    }, LAST_WORDS_MS).unref();
  }

  destroy(): void {
    this.#sink.destroy();
  }

  get #isBehind(): boolean {
    return this.#sink.writableLength > MOST_UNSENT;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#sink.once('drain', resolve);
      this.#sink.once('close', () => {
        resolve();
      });
    });
  }

  #tellMore(): void {
    for (const program of this.#changed) {
      if (!this.isOpen || this.#isBehind) return;
      this.#changed.delete(program);
      this.#tell(program);
    }
  }

  /** All that is new of one program: its ring bounds it. */
  #tell(program: SpawnedProgram): void {
    const { id, ring, end } = program;
    const at = Math.max(this.#sent.get(program) ?? 0, ring.start);
    if (at < ring.end) {
      this.#sent.set(program, ring.end);
      this.send({ kind: 'output', id, at, bytes: ring.read(at, LONGEST_OUTPUT) });
    }
    if (end === undefined) return;
    this.#sent.delete(program);
    this.send({ kind: 'ended', id, end });
    this.#listener.reported(program);
  }
}
