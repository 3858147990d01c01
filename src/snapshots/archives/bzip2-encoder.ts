/** bzip2 by the library of this host. Every stream is known by its address; any thread can go on with it. */
import { BZ_STREAM_SIZE, BZIP2_RESULTS, bzip2Library } from './bzip2-library.js';
import { freeStream, newStream, stepStream, type StreamStep } from './native-stream.js';

/** The memory of a stream is eight times as much; a shorter content needs no larger block. */
const BLOCK_STEP = 100_000;
const MOST_STEPS = 9;
const NOTHING = Buffer.alloc(0);
/** Of the step that this thread is at: what comes out is copied from here. */
const room = Buffer.allocUnsafeSlow(128 * 1024);

/** `size`: of the content, if known. Refuses (409) where the library is missing. */
export function newBzip2Stream(size = Infinity): number {
  const { beginCompressing } = bzip2Library();
  const steps = Math.max(1, Math.min(MOST_STEPS, Math.ceil(size / BLOCK_STEP)));
  return newStream(BZ_STREAM_SIZE, (address) => {
    const result = beginCompressing(address, steps, 0, 0);
    if (result !== BZIP2_RESULTS.ok) throw new Error(`bzip2 could not begin: error ${result}`);
  });
}

/** Maybe nothing yet: much is kept until more follows, or the last. */
export function compressBzip2(address: number, bytes: Uint8Array, isLast: boolean): Buffer<ArrayBuffer> {
  const { compress, finishCompressing } = bzip2Library();
  const outputs: Buffer[] = [];
  const keep = ({ result, output }: StreamStep, ...expected: readonly number[]): void => {
    if (!expected.includes(result)) throw new Error(`bzip2 could not go on: error ${result}`);
    outputs.push(Buffer.from(output));
  };
  for (let rest = bytes; rest.length > 0;) {
    const step = stepStream(address, compress, rest, room);
    keep(step, BZIP2_RESULTS.runs);
    rest = step.rest;
  }
  for (let isOver = !isLast; !isOver;) {
    const step = stepStream(address, finishCompressing, NOTHING, room);
    keep(step, BZIP2_RESULTS.finishes, BZIP2_RESULTS.end);
    isOver = step.result === BZIP2_RESULTS.end;
  }
  return Buffer.concat(outputs);
}

/** Whether it has come to its end or not. */
export function freeBzip2Stream(address: number): void {
  freeStream(address, bzip2Library().endCompressing);
}
