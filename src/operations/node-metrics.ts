/** The processes of nodes by the kind of node, as a reader thread measures them: programs, and the first process of each container with those below it. */
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { ProgramTimes } from './measure-tasks.js';

interface KnownProcess {
  readonly kind: string;
  cpuSeconds: number;
}

interface KindSums {
  processes: number;
  memoryBytes: number;
}

export class NodeMetrics {
  /** The programs of the last look, by the numbers of their processes. */
  #running = new Map<number, KnownProcess>();
  readonly #sums = new Map<string, KindSums>();
  /** The processor time of programs that have ended, so that no sum falls. */
  readonly #ended = new Map<string, number>();

  note(programs: readonly ProgramTimes[]): void {
    const running = new Map<number, KnownProcess>();
    for (const sums of this.#sums.values()) Object.assign(sums, { processes: 0, memoryBytes: 0 });
    for (const { pid, kind, processes, cpuSeconds, memoryBytes } of programs) {
      const before = this.#running.get(pid);
      // A process that a program has left alone takes its time along.
      const least = before?.kind === kind ? before.cpuSeconds : 0;
      running.set(pid, { kind, cpuSeconds: Math.max(least, cpuSeconds) });
      const sums = this.#sums.get(kind) ?? { processes: 0, memoryBytes: 0 };
      sums.processes += processes;
      sums.memoryBytes += memoryBytes;
      this.#sums.set(kind, sums);
    }
    for (const [pid, { kind, cpuSeconds }] of this.#running) {
      if (running.get(pid)?.kind === kind) continue;
      this.#ended.set(kind, (this.#ended.get(kind) ?? 0) + cpuSeconds);
    }
    this.#running = running;
  }

  writeMetrics(page: MetricPage): void {
    const seconds = new Map(this.#ended);
    for (const { kind, cpuSeconds } of this.#running.values())
      seconds.set(kind, (seconds.get(kind) ?? 0) + cpuSeconds);
    page.gauge('node_processes', 'Processes of nodes that run');
    for (const [kind, { processes }] of this.#sums) page.sample(processes, { kind });
    page.counter('node_cpu_seconds', 'Processor time of the processes of nodes');
    for (const kind of this.#sums.keys()) page.sample(seconds.get(kind) ?? 0, { kind });
    page.gauge('node_memory_bytes', 'Memory of the processes of nodes that run');
    for (const [kind, { memoryBytes }] of this.#sums) page.sample(memoryBytes, { kind });
  }
}
