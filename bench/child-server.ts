/** A server to be measured: a child process that prints where it listens. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf } from './traffic/cpu-seconds.js';
import { residentMiBOf } from './traffic/resident.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
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
    return ChildServer.#by(process.execPath, [...nodeOptions, path, ...args]);
  }

  /** Starts the server as its users do, in this clone, which is built. */
  static async startClone(args: readonly string[]): Promise<ChildServer> {
    return ChildServer.#by('npm', ['start', '--prefix', ROOT, '--', ...args]);
  }

  static async #by(program: string, args: readonly string[]): Promise<ChildServer> {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const line of createInterface({ input: child.stdout })) {
      const url = LISTENS.exec(line)?.[1];
      if (url !== undefined) return new ChildServer(child, url);
    }
    throw new Error(`${program} ${args.join(' ')} did not start`);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Seconds of CPU that the process has used so far, all threads. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.pid);
  }

  residentMiB(): number {
    return residentMiBOf(this.pid);
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}
