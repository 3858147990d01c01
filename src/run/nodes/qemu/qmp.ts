/**
 * The client's side of QMP, the protocol by which QEMU is controlled: one JSON object a line, over a Unix socket. QEMU
 * greets, the client asks for no more than the plain protocol, and then commands are answered in any order. Whatever
 * comes is checked: the guest may have broken out of its machine.
 */
import type { Socket } from 'node:net';

const LONGEST_LINE = 1024 * 1024;
const LINE_FEED = 0x0a;
/** A command that is not answered for so long has failed. */
const ANSWER_MS = 30_000;

export interface QmpOptions {
  readonly onEvent: (name: string, data: Readonly<Record<string, unknown>>) => void;
  readonly answerMs?: number;
}

/** QEMU has refused a command: the message is its own sentence. */
export class QmpError extends Error {
  override readonly name = 'QmpError';
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly patience: NodeJS.Timeout;
}

type Message = Readonly<Record<string, unknown>>;

export class QmpClient {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #onEvent: QmpOptions['onEvent'];
  readonly #answerMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #pieces: Buffer[] = [];
  #length = 0;
  #greeted: () => void = () => undefined;

  private constructor(socket: Socket, { onEvent, answerMs }: QmpOptions) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    this.#answerMs = answerMs ?? ANSWER_MS;
    socket.on('data', (bytes: Buffer) => {
      this.#take(bytes);
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#failAll();
        resolve();
      });
    });
  }

  /** Resolves when QEMU takes commands. Rejects when what is connected is not QEMU. It closes the socket. */
  static async open(socket: Socket, options: QmpOptions): Promise<QmpClient> {
    const client = new QmpClient(socket, options);
    try {
      await new Promise<void>((resolve, reject) => {
        const patience = setTimeout(() => {
          reject(new Error('QEMU does not greet'));
        }, client.#answerMs);
        client.#greeted = () => {
          clearTimeout(patience);
          resolve();
        };
        socket.once('error', reject);
        void client.closed.then(() => {
          clearTimeout(patience);
          reject(new Error('QEMU has closed its control socket'));
        });
      });
      await client.execute('qmp_capabilities');
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** Resolves with what the command returns. Rejects when QEMU refuses it, does not answer, or has gone. */
  execute(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (this.#socket.destroyed) return Promise.reject(new Error('QEMU has closed its control socket'));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const patience = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`QEMU does not answer the command ${command}`));
      }, this.#answerMs);
      this.#waiting.set(id, { resolve, reject, patience });
      const message = { execute: command, id, ...(args === undefined ? {} : { arguments: args }) };
      this.#socket.write(`${JSON.stringify(message)}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    let rest = bytes;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      this.#pieces.push(rest.subarray(0, end));
      const line = Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#length = 0;
      rest = rest.subarray(end + 1);
      if (!this.#receive(line.toString('utf8'))) {
        this.close();
        return;
      }
    }
    this.#length += rest.length;
    if (this.#length > LONGEST_LINE) this.close();
    else if (rest.length > 0) this.#pieces.push(rest);
  }

  /** Returns false when the line is no message of QMP. */
  #receive(line: string): boolean {
    if (line.trim() === '') return true;
    const message = parsed(line);
    if (message === undefined) return false;
    const { event, id, error } = message;
    if ('QMP' in message) this.#greeted();
    else if (typeof event === 'string') this.#onEvent(event, recordOf(message['data']) ?? {});
    else if (typeof id === 'number') this.#answer(id, message);
    // QEMU could not read a command, so it does not know whose error it is.
    else return error !== undefined;
    return true;
  }

  #answer(id: number, message: Message): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.patience);
    const { error } = message;
    if (error === undefined) waiting.resolve(message['return']);
    else {
      const reason = recordOf(error)?.['desc'];
      waiting.reject(new QmpError(typeof reason === 'string' ? reason : 'QEMU gives no reason'));
    }
  }

  #failAll(): void {
    for (const { reject, patience } of this.#waiting.values()) {
      clearTimeout(patience);
      reject(new Error('QEMU has closed its control socket'));
    }
    this.#waiting.clear();
  }
}

function parsed(line: string): Message | undefined {
  try {
    return recordOf(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function recordOf(value: unknown): Message | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Message)
    : undefined;
}
