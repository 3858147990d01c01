/**
 * Some tests run twice: a few rounds for every change, and the same with many rounds under `test/soak`. The few say so
 * in the output of their file.
 */
const isSoak = process.env['WIREFARM_TEST_TIER'] === 'soak';

export function rounds(few: number, many: number): number {
  if (isSoak) return many;
  process.stdout.write(`# ${few} of ${many === Infinity ? 'all' : many}: npm run test:soak has the others\n`);
  return few;
}
