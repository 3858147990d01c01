/** A client of a notification stream, over HTTP or a WebSocket, that remembers everything it was told. */
import { on } from 'node:events';
import { WebSocket } from 'ws';

export interface Notification {
  readonly action: string;
  readonly event: Readonly<Record<string, unknown>>;
}

interface Waiter {
  readonly matches: (notification: Notification) => boolean;
  readonly resolve: (notification: Notification) => void;
}

export class NotificationLog {
  readonly #received: Notification[] = [];
  readonly #waiters = new Set<Waiter>();
  readonly #abort: () => void;
  /** Resolves when the stream has ended, by whoever's wish. */
  readonly ended: Promise<void>;

  private constructor(texts: AsyncIterable<string>, abort: () => void) {
    this.#abort = abort;
    this.ended = this.#read(texts).catch(() => undefined);
  }

  /** Resolves when the server has sent its first line: from then on nothing is missed. */
  static async open(url: string, headers: Record<string, string> = {}): Promise<NotificationLog> {
    const abort = new AbortController();
    const { body } = await fetch(url, { headers, signal: abort.signal });
    if (body === null) throw new Error('the notification stream has no body');
    return NotificationLog.#begun(linesOf(body), () => {
      abort.abort();
    });
  }

  /** The same over the WebSocket at this address. */
  static async openSocket(url: string, headers: Record<string, string> = {}): Promise<NotificationLog> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers });
    return NotificationLog.#begun(framesOf(socket), () => {
      socket.terminate();
    });
  }

  static async #begun(texts: AsyncIterable<string>, abort: () => void): Promise<NotificationLog> {
    const log = new NotificationLog(texts, abort);
    const over = log.ended.then(() => {
      throw new Error('the notification stream ended before its first ping');
    });
    await Promise.race([log.next(({ action }) => action === 'ping'), over]);
    return log;
  }

  /** The notifications so far, without pings and loads of computes. */
  get received(): readonly Notification[] {
    return this.#received.filter(({ action }) => action !== 'ping' && action !== 'compute.updated');
  }

  /** The first matching notification, past or future. */
  next(matches: (notification: Notification) => boolean): Promise<Notification> {
    const past = this.#received.find(matches);
    if (past !== undefined) return Promise.resolve(past);
    return new Promise((resolve) => this.#waiters.add({ matches, resolve }));
  }

  close(): void {
    this.#abort();
  }

  async #read(texts: AsyncIterable<string>): Promise<void> {
    for await (const text of texts) this.#take(JSON.parse(text) as Notification);
  }

  #take(notification: Notification): void {
    this.#received.push(notification);
    for (const waiter of this.#waiters) {
      if (!waiter.matches(notification)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(notification);
    }
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
}

/** Every text frame is one notification. */
async function* framesOf(socket: WebSocket): AsyncGenerator<string> {
  const closed = new AbortController();
  socket.on('close', () => {
    closed.abort();
  });
  const frames = on(socket, 'message', { signal: closed.signal }) as AsyncIterable<[Buffer]>;
  for await (const [frame] of frames) yield frame.toString();
}
