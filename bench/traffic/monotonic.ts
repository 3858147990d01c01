/** Milliseconds of the clock that all processes of the host share: a time sent by one can be compared by another. */
const OFFSET = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export function monotonicMs(): number {
  return OFFSET + performance.now();
}
