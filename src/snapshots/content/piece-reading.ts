/** Reading a file that is stored, from front to back. Runs in a worker thread. */
import { chunkEnd, chunkStart, PIECE_LENGTH, sinkPiece, sinkZeros, type ChunkSink } from './chunk-sink.js';
import type { Extent, StoredFile } from './content-tree.js';
import type { OpenObjects } from './open-objects.js';

const buffer = Buffer.allocUnsafeSlow(PIECE_LENGTH);

/** Throws `ContentDamage`. What no extent covers is not read. */
export function readPieces(objects: OpenObjects, { size, extents }: StoredFile, sink: ChunkSink): void {
  const runs = dataRuns(objects, extents);
  let run = runs.next().value;
  let position = 0;
  while (run !== undefined) {
    const start = Math.max(position, chunkStart(run.position));
    sinkZeros(start - position, sink);
    const end = Math.min(start + PIECE_LENGTH, size);
    let filled = start;
    while (run !== undefined && run.position < end) {
      const from = Math.max(run.position, start);
      const to = Math.min(run.position + run.length, end);
      buffer.fill(0, filled - start, from - start);
      const next = run.position + run.length - to;
      objects.read(
        run.object,
        buffer.subarray(from - start, to - start),
        run.offset + from - run.position,
        next,
      );
      filled = to;
      if (next > 0) break;
      run = runs.next().value;
    }
    position = Math.min(chunkEnd(filled), size);
    buffer.fill(0, filled - start, position - start);
    sinkPiece(buffer.subarray(0, position - start), sink);
  }
  sinkZeros(size - position, sink);
}

function* dataRuns(
  objects: OpenObjects,
  extents: readonly Extent[],
): Generator<Extent, undefined, undefined> {
  for (const extent of extents) yield* objects.dataOf(extent);
  return undefined;
}
