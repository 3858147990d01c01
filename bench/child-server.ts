/** A server to be measured: a child process that prints where it listens. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf } from './traffic/cpu-seconds.js';

const LISTENS = /listens on (http:\/\/\S+)$/;

export class ChildServer {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(
    module: string,
    args: readonly string[],
    nodeOptions: readonly string[] = [],
  ): Promise<ChildServer> {
    const path = fileURLToPath(new URL(module, import.meta.url));
    const child = spawn(process.execPath, [...nodeOptions, path, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const url = LISTENS.exec(line)?.[1];
      if (url !== undefined) return new ChildServer(child, url);
    }
    throw new Error(`${module} did not start`);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Seconds of CPU that the process has used so far, all threads. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.pid);
  }

  residentMiB(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}
