/**
 * Reads one chunked answer as cheaply as can be, so that a crowd of clients costs less than the server: no copies, one
 * buffer for all of them.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LINE_END = 13;
const shared = Buffer.alloc(64 * 1024);

/** `use` is given stretches of the body, which are valid while it runs. Resolves when the body has ended. */
export async function readStream(url: string, use: (bytes: Buffer) => void): Promise<void> {
  const { hostname, port, pathname } = new URL(url);
  const body = new ChunkedAnswer(url, use);
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer: shared,
      callback: (length, bytes) => {
        if (body.take(Buffer.from(bytes.buffer, bytes.byteOffset, length))) socket.destroy();
        return true;
      },
    },
  });
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
  await once(socket, 'close');
  if (!body.isOver) throw new Error(`${url}: broken off`);
}

class ChunkedAnswer {
  isOver = false;
  readonly #url: string;
  readonly #use: (bytes: Buffer) => void;
  /** The head, until it is whole; then undefined. */
  #head: string | undefined = '';
  /** How much of the chunk is left, with the line end behind it; while its size is read, how much of that there is. */
  #left = 0;
  #size = 0;
  #readsSize = true;

  constructor(url: string, use: (bytes: Buffer) => void) {
    this.#url = url;
    this.#use = use;
  }

  /** Returns whether that was the end. */
  take(bytes: Buffer): boolean {
    let at = this.#head === undefined ? 0 : this.#takeHead(this.#head, bytes);
    while (at < bytes.length && !this.isOver) {
      at = this.#readsSize ? this.#takeSize(bytes, at) : this.#takeChunk(bytes, at);
    }
    return this.isOver;
  }

  #takeHead(before: string, bytes: Buffer): number {
    const head = before + bytes.toString('latin1');
    const end = head.indexOf(HEAD_END);
    this.#head = end < 0 ? head : undefined;
    if (end < 0) return bytes.length;
    if (!/^HTTP\/1.1 200 [^]*transfer-encoding: chunked/i.test(head.slice(0, end))) {
      throw new Error(`${this.#url}: ${head}`);
    }
    return end + HEAD_END.length - before.length;
  }

  /** A number in hexadecimal and a line end. */
  #takeSize(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(LINE_END, from);
    const digits = bytes.toString('latin1', from, end < 0 ? bytes.length : end).trim();
    if (digits !== '') this.#size = this.#size * 16 ** digits.length + Number.parseInt(digits, 16);
    if (end < 0) return bytes.length;
    this.isOver = this.#size === 0;
    this.#readsSize = false;
    // With the line feed of this line before it, and a line end behind it.
    this.#left = this.#size + 3;
    return end + 1;
  }

  #takeChunk(bytes: Buffer, from: number): number {
    const taken = Math.min(this.#left, bytes.length - from);
    const skipped = this.#left === this.#size + 3 ? 1 : 0;
    const data = Math.min(taken - skipped, Math.max(0, this.#left - 2 - skipped));
    if (data > 0) this.#use(bytes.subarray(from + skipped, from + skipped + data));
    this.#left -= taken;
    if (this.#left === 0) {
      this.#readsSize = true;
      this.#size = 0;
    }
    return from + taken;
  }
}
