/** A forwarder under measurement: a child process on a processor of its own, and what it costs. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf } from './cpu-seconds.js';
import type { ForwarderPath } from './forwarder-path.js';
import type { Load, LoadResult } from './load.js';
import { pinProcess } from './pinning.js';
import type { RoundTrips } from './round-trips.js';

const FORWARDER_CPU = 0;
const GENERATOR_CPU = 1;

export type Program = 'engine-forwarder' | 'plain-forwarder' | 'node-pair';

export class Forwarder {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static start(program: Program, path: ForwarderPath): Promise<Forwarder> {
    const file = fileURLToPath(new URL(`./${program}.js`, import.meta.url));
    return Forwarder.run(process.execPath, [file, JSON.stringify(path)]);
  }

  /** An engine with a switch between guests that share their memory. */
  static startGuests(sockets: readonly string[]): Promise<Forwarder> {
    const file = fileURLToPath(new URL('./guest-forwarder.js', import.meta.url));
    return Forwarder.run(process.execPath, [file, ...sockets]);
  }

  /** The command prints a line when it is ready. */
  static async run(command: string, args: readonly string[]): Promise<Forwarder> {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(createInterface({ input: child.stdout }), 'line');
    pinProcess(child.pid ?? 0, FORWARDER_CPU);
    return new Forwarder(child);
  }

  cpuSeconds(): number {
    return cpuSecondsOf(this.#child.pid ?? 0);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

/** The median of the round trips, in microseconds. */
export async function roundTrip(task: Omit<RoundTrips, 'cpu'>): Promise<number> {
  const file = fileURLToPath(new URL('./round-trips.js', import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify({ ...task, cpu: GENERATOR_CPU })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const microseconds = Number(await text(child.stdout));
  // Nothing is printed when trips were lost.
  if (!(microseconds > 0)) throw new Error('the round trips failed');
  return microseconds;
}

export async function offer(load: Omit<Load, 'cpu'>): Promise<LoadResult> {
  const file = fileURLToPath(new URL('./generator.js', import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify({ ...load, cpu: GENERATOR_CPU })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const result = JSON.parse(line) as LoadResult;
  if (result.wrong > 0 || result.duplicates > 0 || result.reordered > 0) {
    throw new Error(`the forwarder made mistakes: ${line}`);
  }
  return result;
}

/** UDP ports that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const sockets = Array.from({ length: count }, () => createSocket('udp4'));
  const ports = await Promise.all(
    sockets.map(async (socket) => {
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
      return socket.address().port;
    }),
  );
  await Promise.all(
    sockets.map((socket) => {
      socket.close();
      return once(socket, 'close');
    }),
  );
  return ports;
}
