/** Counts the resources that a process has used so far, with the threads and the children that it has waited for. */
import { readFileSync } from 'node:fs';

export interface Usage {
  /** User and system; the kernel counts in hundredths. */
  readonly cpuSeconds: number;
  /** The octets that it has given to file systems to be written, whether the disk has them or not. */
  readonly writtenOctets: number;
}

const TICKS_A_SECOND = 100;
/** Fields of /proc/<pid>/stat, counted from the state of the process, which follows its name. */
const TIMES = { own: [11, 12], ofChildren: [13, 14] };

export function usageOf(pid: number): Usage {
  return usageIn(readFileSync(`/proc/${pid}/io`, 'utf8'), readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** From the two files of the process, as they are. */
export function usageIn(io: string, stat: string): Usage {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [...TIMES.own, ...TIMES.ofChildren].reduce((sum, at) => sum + Number(fields[at]), 0);
  return {
    cpuSeconds: ticks / TICKS_A_SECOND,
    writtenOctets: Number(/^write_bytes: (\d+)$/m.exec(io)?.[1]),
  };
}
