/** Some tests run twice: a few rounds for every change, and the same with many rounds under `test/soak`. */
const isSoak = process.env['WIREFARM_TEST_TIER'] === 'soak';

export function rounds(few: number, many: number): number {
  return isSoak ? many : few;
}
