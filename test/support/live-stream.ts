/** A client of a live stream that keeps everything it was given. */
import { eventually } from './eventually.js';
import type { Teardown } from './scratch.js';

export class LiveStream {
  readonly status: number;
  readonly headers: Headers;
  /** Resolves with everything when the stream has ended; rejects when it was broken off. */
  readonly ended: Promise<Buffer>;
  readonly #abort: AbortController;
  readonly #pieces: Buffer[] = [];

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.#abort = abort;
    this.ended = this.#read(response);
    this.ended.catch(() => undefined);
  }

  /** Resolves with the head of the response. */
  static async open(t: Teardown, url: string): Promise<LiveStream> {
    const abort = new AbortController();
    t.teardown(() => {
      abort.abort();
    });
    return new LiveStream(await fetch(url, { signal: abort.signal }), abort);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  /** Once there are so many octets. */
  async reach(octets: number): Promise<Buffer> {
    return eventually(`${octets} octets`, () => (this.bytes.length >= octets ? this.bytes : undefined));
  }

  close(): void {
    this.#abort.abort();
  }

  async #read({ body }: Response): Promise<Buffer> {
    for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>)
      this.#pieces.push(Buffer.from(piece));
    return this.bytes;
  }
}
