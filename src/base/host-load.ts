/** How busy this host is, as shares of the time since the last reading. */
import { cpus, freemem, totalmem } from 'node:os';

export interface HostLoad {
  readonly cpu_usage_percent: number;
  readonly memory_usage_percent: number;
}

const SHORTEST_SPAN_MS = 500;

export class HostLoadMeter {
  #busy = 0;
  #total = 0;
  #readAt = -Infinity;
  #last: HostLoad = { cpu_usage_percent: 0, memory_usage_percent: 0 };

  /** Readings in quick succession share one value, because a shorter span tells nothing. */
  read(now = performance.now()): HostLoad {
    if (now - this.#readAt < SHORTEST_SPAN_MS) return this.#last;
    let busy = 0;
    let total = 0;
    for (const { times } of cpus()) {
      const all = times.user + times.nice + times.sys + times.idle + times.irq;
      busy += all - times.idle;
      total += all;
    }
    const span = total - this.#total;
    this.#last = {
      cpu_usage_percent: span > 0 ? percent((busy - this.#busy) / span) : 0,
      memory_usage_percent: percent(1 - freemem() / totalmem()),
    };
    this.#busy = busy;
    this.#total = total;
    this.#readAt = now;
    return this.#last;
  }
}

function percent(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
}
