/** The server's end of its connection to the keeper. */
import { connect, type Socket } from 'node:net';
import { systemCode } from '../../base/errors/errors.js';
import { FrameReader, frameOf } from './frames.js';
import { KEEPER_VERSION, type KeeperMessage, type ProjectLimits, type ServerMessage } from './messages.js';

/** A keeper that does not take its orders has stopped: the bytes of consoles are dropped then. */
const MOST_UNSENT = 8 * 1024 * 1024;
const HELLO_MS = 20_000;

/** The greeting of a server. */
interface Hello {
  readonly mark: string;
  readonly graceSeconds: number;
  readonly limits: ProjectLimits;
}

/** `other`: the keeper is of another version, or of another mark. */
type Greeting = 'welcome' | 'busy' | 'other' | 'closed';

export class KeeperLine {
  readonly closed: Promise<void>;
  readonly #sink: Socket;
  #pid: number | undefined;
  #controllers: readonly string[] = [];

  /** Undefined when no keeper listens there. */
  static async open(path: string): Promise<KeeperLine | undefined> {
    const sink = connect({ path });
    try {
      await new Promise<void>((resolve, reject) => {
        sink.once('connect', resolve);
        sink.once('error', reject);
      });
    } catch (error) {
      if (['ENOENT', 'ECONNREFUSED'].includes(systemCode(error) ?? '')) return undefined;
      throw error;
    }
    return new KeeperLine(sink);
  }

  private constructor(sink: Socket) {
    this.#sink = sink;
    sink.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      sink.once('close', () => {
        resolve();
      });
    });
  }

  /** The process of the keeper; undefined when it has not answered. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** The controllers by which the keeper can limit projects, once it has welcomed this server. */
  get controllers(): readonly string[] {
    return this.#controllers;
  }

  /** `received` is called with all messages about programs, those that come before the welcome included. */
  async greet(hello: Hello, received: (message: KeeperMessage) => void): Promise<Greeting> {
    const greeting = new Promise<Greeting>((resolve, reject) => {
      const patience = setTimeout(() => {
        reject(new Error('The keeper of the programs does not answer'));
        this.#sink.destroy();
      }, HELLO_MS);
      this.#onMessages((message) => {
        clearTimeout(patience);
        if (message.kind === 'hello') {
          this.#pid = message.pid;
          if (message.version !== KEEPER_VERSION || message.mark !== hello.mark) resolve('other');
          return;
        }
        if (message.kind === 'welcome') this.#controllers = message.controllers;
        if (message.kind === 'welcome' || message.kind === 'busy') resolve(message.kind);
        else received(message);
      });
      void this.closed.then(() => {
        clearTimeout(patience);
        resolve('closed');
      });
    });
    this.send({ kind: 'hello', version: KEEPER_VERSION, ...hello });
    return greeting;
  }

  send(message: ServerMessage): void {
    if ('bytes' in message && this.#sink.writableLength > MOST_UNSENT) return;
    if (this.#sink.writable) this.#sink.write(frameOf(message));
  }

  /** Whether the connection alone keeps the process running. */
  holdProcess(holds: boolean): void {
    if (holds) this.#sink.ref();
    else this.#sink.unref();
  }

  async close(): Promise<void> {
    this.#sink.end();
    await this.closed;
  }

  #onMessages(take: (message: KeeperMessage) => void): void {
    const reader = new FrameReader();
    this.#sink.on('data', (bytes) => {
      for (const message of this.#read(reader, bytes)) take(message);
    });
  }

  #read(reader: FrameReader, bytes: Buffer): KeeperMessage[] {
    try {
      return reader.push(bytes) as KeeperMessage[];
    } catch {
      this.#sink.destroy();
      return [];
    }
  }
}
