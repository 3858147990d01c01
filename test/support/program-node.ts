/** A node that is a program: a child process whose standard input and output are its console. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { refusals } from '../../src/base/errors/errors.js';
import type { NodeStatus } from '../../src/lab/lab-run.js';
import type { Nio } from '../../src/run/links/nio.js';
import type { NodeConsole, NodeRuntime } from '../../src/run/node-runtime.js';
import { Turns } from '../../src/run/turns.js';
import type { Teardown } from './scratch.js';

type Program = ChildProcessByStdio<Writable, Readable, null>;
type Listener = (bytes: Uint8Array) => void;

export class ProgramNode implements NodeRuntime {
  readonly console: NodeConsole = {
    write: (bytes) => this.#program?.stdin.write(bytes),
    listen: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };
  readonly #command: readonly [string, ...string[]];
  readonly #turns = new Turns();
  readonly #listeners = new Set<Listener>();
  readonly #ports = new Map<number, Nio>();
  #program: Program | undefined;
  #isSuspended = false;

  constructor(t: Teardown, ...command: readonly [string, ...string[]]) {
    this.#command = command;
    t.teardown(() => this.stop());
  }

  get status(): NodeStatus {
    if (this.#program === undefined) return 'stopped';
    return this.#isSuspended ? 'suspended' : 'started';
  }

  get processId(): number | undefined {
    return this.#program?.pid;
  }

  start(): Promise<void> {
    return this.#turns.take(() => this.#start());
  }

  stop(): Promise<void> {
    return this.#turns.take(() => this.#stop());
  }

  suspend(): Promise<void> {
    return this.#turns.take(() => {
      if (this.#program?.kill('SIGSTOP') === true) this.#isSuspended = true;
      return Promise.resolve();
    });
  }

  reload(): Promise<void> {
    return this.#turns.take(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  attach(port: number, nio: Nio): Promise<void> {
    return this.#turns.take(() => {
      if (this.#ports.has(port)) throw refusals.portOccupied(port);
      this.#ports.set(port, nio);
      return Promise.resolve();
    });
  }

  detach(port: number): Promise<void> {
    return this.#turns.take(() => {
      if (!this.#ports.delete(port)) throw refusals.portUnattached(port);
      return Promise.resolve();
    });
  }

  async #start(): Promise<void> {
    if (this.#program !== undefined) {
      this.#program.kill('SIGCONT');
      this.#isSuspended = false;
      return;
    }
    const [command, ...options] = this.#command;
    const program = spawn(command, options, { stdio: ['pipe', 'pipe', 'ignore'] });
    await once(program, 'spawn');
    this.#program = program;
    this.#isSuspended = false;
    program.once('exit', () => (this.#program = undefined));
    // A program may end before it has read everything.
    program.stdin.on('error', () => undefined);
    program.stdout.on('data', (bytes: Buffer) => {
      for (const listener of this.#listeners) listener(bytes);
    });
  }

  async #stop(): Promise<void> {
    const program = this.#program;
    if (program === undefined) return;
    const ended = once(program, 'exit');
    program.kill('SIGTERM');
    program.kill('SIGCONT');
    await ended;
  }
}
