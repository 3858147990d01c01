/** Keeps threads on a processor of their own, as far as there are several. */
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import koffi from 'koffi';

const setAffinity = koffi.load(null).func('int sched_setaffinity(int, size_t, const uint8_t *)') as (
  thread: number,
  size: number,
  mask: Uint8Array,
) => number;

/** 0 is the calling thread. */
export function pinThread(thread: number, cpu: number): void {
  if (availableParallelism() < 2) return;
  const mask = new Uint8Array(128);
  mask[cpu >> 3] = 1 << (cpu & 7);
  setAffinity(thread, mask.length, mask);
}

export function pinProcess(pid: number, cpu: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`)) pinThread(Number(thread), cpu);
}
