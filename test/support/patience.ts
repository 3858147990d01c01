/** Limits by the clock. They only end what hangs; one variable stretches them all for a loaded machine. */
const FACTOR = Number(process.env['WIREFARM_TEST_PATIENCE'] ?? 1);

/** How many milliseconds a limit is, which is this many on a quiet machine. */
export function patience(quietMs: number): number {
  return quietMs * FACTOR;
}
