/** Messages on a stream of bytes: the length in four bytes, big-endian, then the message as MessagePack. */
import { pack, unpack } from 'msgpackr';

export const LONGEST_FRAME = 1024 * 1024;
const HEADER = 4;

export function frameOf(message: unknown): Buffer {
  const packed = pack(message);
  const frame = Buffer.allocUnsafe(HEADER + packed.length);
  frame.writeUInt32BE(packed.length);
  frame.set(packed, HEADER);
  return frame;
}

export class FrameReader {
  #parts: Buffer[] = [];
  #length = 0;

  /** Returns the messages that are complete now. Throws when a frame is too long or is no MessagePack. */
  push(bytes: Buffer): unknown[] {
    const messages: unknown[] = [];
    this.#parts.push(bytes);
    this.#length += bytes.length;
    for (let length = this.#frameLength(); this.#length >= HEADER + length; length = this.#frameLength()) {
      const joined = this.#joined();
      this.#parts = joined.length > HEADER + length ? [joined.subarray(HEADER + length)] : [];
      this.#length -= HEADER + length;
      messages.push(unpack(joined.subarray(HEADER, HEADER + length)));
    }
    return messages;
  }

  /** Infinity as long as it has not come. */
  #frameLength(): number {
    if (this.#length < HEADER) return Infinity;
    const first = this.#parts[0];
    const head = first !== undefined && first.length >= HEADER ? first : this.#joined();
    const length = head.readUInt32BE();
    if (length > LONGEST_FRAME) throw new Error(`a frame of ${length} bytes is too long`);
    return length;
  }

  #joined(): Buffer {
    const [first] = this.#parts;
    if (this.#parts.length === 1 && first !== undefined) return first;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [joined];
    return joined;
  }
}
