/**
 * The console of one node: one source, any number of clients. A client is never waited for, so neither the node nor
 * the other clients are held up by one that does not read.
 */
import { refusals } from '../../base/errors/errors.js';
import type { NodeConsole } from '../nodes/node-runtime.js';
import { Scrollback } from './scrollback.js';
import { withoutQuestions } from './terminal-questions.js';

/** The most clients of one console, WebSockets and telnet together. */
export const MOST_CLIENTS = 32;
/** A client with more unsent bytes is cut. */
export const MOST_UNSENT = 256 * 1024;
/** At most so many bytes are given to a client at once, so that its bound is looked at in between. */
const LARGEST_PIECE = 64 * 1024;

/** Where typed bytes go while the node runs. None of its methods waits; typed bytes that it cannot take are lost. */
export interface ConsoleSource {
  write(bytes: Uint8Array): void;
  resize?(columns: number, rows: number): void;
  /** A serial break. */
  sendBreak?(): void;
}

/** A client as the others see it. */
interface ConsoleGuest {
  readonly name: string;
  /** Whether what this client types is lost. */
  readonly isWatching: boolean;
}

/** News beside the bytes of the console. */
interface ConsoleNews {
  /** Whether there is something that takes typed bytes. */
  readonly isRunning: boolean;
  /** The clients beside the one that is told. */
  readonly others: readonly ConsoleGuest[];
}

/** Somebody at the console: a telnet connection or a WebSocket. */
export interface ConsoleClient extends ConsoleGuest {
  /** Must not wait. Returns how many bytes have not been sent yet. */
  send(bytes: Uint8Array): number;
  /** Ends the connection. */
  cut(): void;
  /** Called on joining, and when somebody has come or gone, or the node has started or ended. As `send`. */
  tell?(news: ConsoleNews): number;
}

/** The place of a client at a console. After `leave`, or when the client was cut, none of its methods does anything. */
export interface ConsoleSeat {
  type(bytes: Uint8Array): void;
  /** The size of the client's window; it is unknown when either number is 0. */
  resize(columns: number, rows: number): void;
  sendBreak(): void;
  leave(): void;
}

interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

interface Guest {
  readonly client: ConsoleClient;
  window: WindowSize | undefined;
}

export class ConsoleHub implements NodeConsole {
  readonly #used: () => void;
  readonly #scrollback = new Scrollback();
  readonly #guests = new Set<Guest>();
  readonly #listeners = new Set<{ readonly listener: (bytes: Uint8Array) => void }>();
  #source: ConsoleSource | undefined;
  /** The size that the terminal should have; undefined until a client has told one. */
  #window: WindowSize | undefined;
  #hasNews = false;

  /** `used` is called when somebody types, or sees what is printed. */
  constructor(used: () => void = () => undefined) {
    this.#used = used;
  }

  /** The last 64 KiB that were printed, from their first whole line on; also of a node that does not run any more. */
  get scrollback(): Uint8Array {
    return this.#scrollback.bytes;
  }

  /** Whether there is a terminal that follows the windows of clients. */
  get canResize(): boolean {
    return this.#source?.resize !== undefined;
  }

  /** Whether nobody more may join. */
  get isFull(): boolean {
    return this.#guests.size >= MOST_CLIENTS;
  }

  /** Typed bytes go to this source from now on. */
  connect(source: ConsoleSource): void {
    this.#source = source;
    this.#announce();
    if (this.#window !== undefined) source.resize?.(this.#window.columns, this.#window.rows);
  }

  /** Typed bytes are lost from now on. The scrollback and the clients stay. */
  disconnect(): void {
    this.#source = undefined;
    this.#announce();
  }

  /** Sends what the node has printed to all. The bytes must not change afterwards: clients may keep them. */
  printed(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#scrollback.add(bytes);
    if (this.#guests.size > 0) this.#used();
    for (const { listener } of this.#listeners) listener(bytes);
    for (let at = 0; at < bytes.length; at += LARGEST_PIECE) {
      const piece = bytes.subarray(at, at + LARGEST_PIECE);
      for (const guest of this.#guests) this.#send(guest, piece);
    }
  }

  /** The client gets the scrollback first, but for questions to its terminal, which are old. Refuses (503) a client too many. */
  join(client: ConsoleClient): ConsoleSeat {
    if (this.isFull) throw refusals.consoleFull(MOST_CLIENTS);
    const guest: Guest = { client, window: undefined };
    this.#guests.add(guest);
    this.#announce();
    const scrollback = withoutQuestions(this.scrollback);
    if (scrollback.length > 0) this.#send(guest, scrollback);
    return {
      type: (bytes) => {
        if (!this.#guests.has(guest) || client.isWatching) return;
        this.#used();
        this.write(bytes);
      },
      resize: (columns, rows) => {
        if (client.isWatching) return;
        guest.window = columns > 0 && rows > 0 ? { columns, rows } : undefined;
        this.#fitWindows();
      },
      sendBreak: () => {
        if (this.#guests.has(guest) && !client.isWatching) this.#source?.sendBreak?.();
      },
      leave: () => {
        this.#remove(guest);
      },
    };
  }

  listen(listener: (bytes: Uint8Array) => void): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  write(bytes: Uint8Array): void {
    this.#source?.write(bytes);
  }

  /** Cuts all clients and empties the scrollback. The source stays. */
  reset(): void {
    this.#scrollback.clear();
    this.close();
  }

  /** Cuts all clients. */
  close(): void {
    for (const guest of [...this.#guests]) this.#cut(guest);
  }

  #send(guest: Guest, bytes: Uint8Array): void {
    if (guest.client.send(bytes) > MOST_UNSENT) this.#cut(guest);
  }

  #cut(guest: Guest): void {
    this.#remove(guest);
    guest.client.cut();
  }

  #remove(guest: Guest): void {
    if (!this.#guests.delete(guest)) return;
    this.#fitWindows();
    this.#announce();
  }

  /** Tells everybody, once for all that happens in this turn. */
  #announce(): void {
    if (this.#hasNews) return;
    this.#hasNews = true;
    queueMicrotask(() => {
      this.#hasNews = false;
      for (const guest of [...this.#guests]) this.#tell(guest);
    });
  }

  #tell(guest: Guest): void {
    const { client } = guest;
    if (client.tell === undefined || !this.#guests.has(guest)) return;
    const others = [...this.#guests]
      .filter((other) => other !== guest)
      .map(({ client: { name, isWatching } }) => ({ name, isWatching }));
    if (client.tell({ isRunning: this.#source !== undefined, others }) > MOST_UNSENT) this.#cut(guest);
  }

  /** The terminal gets the columns of the narrowest window and the rows of the lowest: everybody sees all of it. */
  #fitWindows(): void {
    const known = [...this.#guests].flatMap(({ window }) => window ?? []);
    if (known.length === 0) return;
    const columns = Math.min(...known.map((window) => window.columns));
    const rows = Math.min(...known.map((window) => window.rows));
    if (this.#window?.columns === columns && this.#window.rows === rows) return;
    this.#window = { columns, rows };
    this.#source?.resize?.(columns, rows);
  }
}
