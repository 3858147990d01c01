/** A client of a notification stream that remembers everything it was told. */
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
  readonly #abort: AbortController;
  /** Resolves when the stream has ended, by whoever's wish. */
  readonly ended: Promise<void>;

  private constructor(body: ReadableStream<Uint8Array>, abort: AbortController) {
    this.#abort = abort;
    this.ended = this.#read(body).catch(() => undefined);
  }

  /** Resolves when the server has sent its first line: from then on nothing is missed. */
  static async open(url: string): Promise<NotificationLog> {
    const abort = new AbortController();
    const { body } = await fetch(url, { signal: abort.signal });
    if (body === null) throw new Error('the notification stream has no body');
    const log = new NotificationLog(body, abort);
    await log.next(({ action }) => action === 'ping');
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
    this.#abort.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of body) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.trim() !== '') this.#take(JSON.parse(line) as Notification);
    }
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
