/** The processor time of the thread that asks. */
import koffi from 'koffi';

const CLOCK_THREAD_CPUTIME_ID = 3;

const TIME = koffi.struct({ seconds: 'int64_t', nanoseconds: 'int64_t' });
const readClock = koffi.load(null).func('clock_gettime', 'int', ['int', koffi.out(koffi.pointer(TIME))]) as (
  clock: number,
  time: { seconds?: number; nanoseconds?: number },
) => number;

export function threadMs(): number {
  const time: { seconds?: number; nanoseconds?: number } = {};
  if (readClock(CLOCK_THREAD_CPUTIME_ID, time) !== 0)
    throw new Error('the clock of the thread cannot be read');
  return Number(time.seconds) * 1e3 + Number(time.nanoseconds) / 1e6;
}
