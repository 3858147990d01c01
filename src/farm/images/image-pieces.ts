/**
 * Reads pieces of an image from servers that have it. A server gives to four others at a time, so one that is busy is passed
 * over, as one is that does not answer. A server whose content was wrong is not asked for that image for a while.
 */
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import type { Emulator } from '../../files/images/image-name.js';
import type { ServerRecord } from '../servers.js';

export interface Holder extends ServerRecord {
  readonly id: string;
}

interface Call {
  readonly method: 'GET' | 'POST';
  readonly target: string;
  readonly range?: { readonly start: number; readonly end: number };
  readonly body?: object;
  readonly largest: number;
  readonly signal: AbortSignal;
}

/** Sends a signed request to another server. Rejects when there is no whole answer. */
export type CallServer = (
  to: Holder,
  call: Call,
) => Promise<{ readonly status: number; readonly bytes: Uint8Array }>;

export interface SharedImage {
  readonly emulator: Emulator;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

interface ImagePiecesOptions {
  readonly call: CallServer;
  readonly now: () => number;
  readonly log: Logger;
}

/** A server that gives nothing for so long is passed over. */
const PIECE_MS = 30_000;
/** All servers are busy: they are asked again after a pause, so many times. */
const BUSY_PAUSE_MS = 250;
const MOST_PAUSES = 240;
const AVOIDED_MS = 10 * 60 * 1000;
const MOST_AVOIDED = 1000;
const PART = 206;
const BUSY = 503;

export class ImagePieces {
  readonly #options: ImagePiecesOptions;
  /** By server and digest: until when it is not asked. */
  readonly #avoided = new Map<string, number>();
  #turn = 0;

  constructor(options: ImagePiecesOptions) {
    this.#options = options;
  }

  /** Refuses (503) when none of the holders can give the piece. */
  async read(
    { emulator, name, sha256 }: SharedImage,
    holders: readonly Holder[],
    range: { readonly start: number; readonly end: number },
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Uint8Array; readonly from: string }> {
    const { call, log, now } = this.#options;
    const target = `/v2/compute/${emulator}/images/${name.split('/').map(encodeURIComponent).join('/')}`;
    const first = this.#turn++;
    let left = holders.filter(({ id }) => (this.#avoided.get(`${id}/${sha256}`) ?? 0) <= now());
    for (let pause = 0; left.length > 0 && pause < MOST_PAUSES; pause++) {
      const failed = new Set<string>();
      for (const index of left.keys()) {
        const holder = left[(first + index) % left.length];
        if (holder === undefined) continue;
        try {
          const limit = AbortSignal.any([signal, AbortSignal.timeout(PIECE_MS)]);
          const length = range.end - range.start;
          const reply = await call(holder, { method: 'GET', target, range, largest: length, signal: limit });
          if (reply.status === PART && reply.bytes.length === length)
            return { bytes: reply.bytes, from: holder.id };
          if (reply.status !== BUSY) failed.add(holder.id);
        } catch (error) {
          if (signal.aborted) throw error;
          failed.add(holder.id);
          log.warn(
            { err: error, server: holder.id, image: name },
            'a server has not given a piece of an image',
          );
        }
      }
      left = left.filter(({ id }) => !failed.has(id));
      if (left.length > 0) await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS));
    }
    throw refusals.imageOutOfReach(name);
  }

  /** The server has given wrong bytes. */
  avoid(server: string, { emulator, name, sha256 }: SharedImage): void {
    const { log, now } = this.#options;
    this.#avoided.delete(`${server}/${sha256}`);
    this.#avoided.set(`${server}/${sha256}`, now() + AVOIDED_MS);
    const [oldest] = this.#avoided.keys();
    if (this.#avoided.size > MOST_AVOIDED && oldest !== undefined) this.#avoided.delete(oldest);
    log.error(
      { server, emulator, image: name, sha256 },
      'a server gives an image with another content than it says: it is not asked for it for ten minutes',
    );
  }
}
