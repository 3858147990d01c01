/**
 * Makes frames of those that travel with an offload, as a wire has them: segments cut, checksums complete. The frames
 * lie in the workspace, since others may go on with the frame itself.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import { copyBytes, spanOver, type ByteSpan } from '../taps/byte-span.js';
import { completeChecksum, completePiece, piecesOf, type Offload } from '../wire/offload.js';
import type { FrameMemory } from './frame-memory.js';
import type { Piece } from './offloads.js';
import { Batch, BATCH_FRAMES, type Port } from './port.js';

type OnBatch = (frames: Batch) => void;

export class Cutter {
  readonly #memory: FrameMemory;
  readonly #span: ByteSpan;
  /** One for each pass that is under way. */
  readonly #spare: Batch[] = [];

  constructor(memory: FrameMemory) {
    this.#memory = memory;
    this.#span = spanOver(memory.bytes);
  }

  /** Passes frames on in order, in as many batches as it takes. At the port, each frame more than one counts as a copy. */
  pass(port: Port, { offsets, lengths, count }: Batch, on: OnBatch): void {
    const batch = this.#spare.pop() ?? new Batch();
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      const frame = this.#memory.offloads.at(offset);
      if (frame === undefined) {
        add(batch, offset, length, on);
        continue;
      }
      frame.pieces ??= this.#cut(offset, length, frame.offload);
      if (frame.pieces.length === 0) port.count(COUNTER.no_memory);
      else port.count(COUNTER.copies, frame.pieces.length - 1);
      for (const piece of frame.pieces) add(batch, piece.offset, piece.length, on);
    }
    if (batch.count > 0) on(batch);
    batch.count = 0;
    this.#spare.push(batch);
  }

  /** Returns none when there is no room for all. */
  #cut(frame: number, length: number, offload: Offload): Piece[] {
    const count = piecesOf(offload, length);
    const pieces: Piece[] = [];
    const { view } = this.#span;
    for (let piece = 0; piece < count; piece++) {
      const first = offload.headers + piece * offload.segment;
      const end = offload.segment === 0 ? length : Math.min(length, first + offload.segment);
      const own = offload.headers + end - first;
      const at = this.#memory.take(own);
      if (at < 0) return [];
      copyBytes(view, frame, view, at, offload.headers);
      copyBytes(view, frame + first, view, at + offload.headers, end - first);
      if (offload.segment === 0) completeChecksum(view, at, own, offload);
      else completePiece(view, at, own, offload, piece, piece === count - 1);
      pieces.push({ offset: at, length: own });
    }
    return pieces;
  }
}

function add(batch: Batch, offset: number, length: number, on: OnBatch): void {
  if (batch.count === BATCH_FRAMES) {
    on(batch);
    batch.count = 0;
  }
  batch.add(offset, length);
}
