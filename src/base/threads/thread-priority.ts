/** Engines and the HTTP thread go first when there are too few cores. */
import { setPriority } from 'node:os';

const NICE = 5;

/** Lowers the priority of the calling thread. On systems other than Linux that would be the whole process. */
export function goAfterOthers(): void {
  if (process.platform === 'linux') setPriority(NICE);
}
