/** The header of virtio before a frame, which says what is left to do. Little endian. */
import type { Offload, OffloadRequest } from '../../wire/offload.js';

const LENGTH = 12;
/** The octets of the first word: flags, and how to cut. */
const NEEDS_CHECKSUM = 1;
const CUTS = { nothing: 0, tcp4: 1, tcp6: 4 } as const;
/** A frame with neither a checksum to compute nor segments to cut has none of these bits in its first word. */
const NOT_PLAIN = 0xff01;
/** In units of 16 bits. */
const [HEADERS, SEGMENT, COVERED, CHECKSUM, BUFFERS] = [1, 2, 3, 4, 5];

export class OffloadHeader {
  readonly bytes = new Uint8Array(LENGTH);
  readonly words = new Int32Array(this.bytes.buffer);
  readonly #halves = new Uint16Array(this.bytes.buffer);

  get isPlain(): boolean {
    return ((this.words[0] ?? 0) & NOT_PLAIN) === 0;
  }

  get request(): OffloadRequest {
    const [flags = 0, how = 0] = this.bytes;
    const [segment = 0, covered = 0, checksum = 0] = this.#halves.subarray(SEGMENT, BUFFERS);
    return {
      ...{ needsChecksum: (flags & NEEDS_CHECKSUM) !== 0, segment, covered, checksum },
      cuts:
        how === CUTS.nothing
          ? 'nothing'
          : how === CUTS.tcp4
            ? 'tcp4'
            : how === CUTS.tcp6
              ? 'tcp6'
              : 'unknown',
    };
  }

  /** The frame lies in this many buffers. */
  set({ covered, checksum, segment, headers, isIpv6 }: Offload, buffers: number): void {
    this.bytes[0] = NEEDS_CHECKSUM;
    this.bytes[1] = segment === 0 ? CUTS.nothing : isIpv6 ? CUTS.tcp6 : CUTS.tcp4;
    this.#halves[HEADERS] = headers;
    this.#halves[SEGMENT] = segment;
    this.#halves[COVERED] = covered;
    this.#halves[CHECKSUM] = checksum - covered;
    this.#halves[BUFFERS] = buffers;
  }
}
