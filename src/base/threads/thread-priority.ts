/** Which threads go first when there are fewer cores than work: engines, and the HTTP thread. */
import { setPriority } from 'node:os';

const NICE = 5;

/** Lets others go before the calling thread. Elsewhere than on Linux that would be the whole process. */
export function goAfterOthers(): void {
  if (process.platform === 'linux') setPriority(NICE);
}
