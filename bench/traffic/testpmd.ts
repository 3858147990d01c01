/**
 * DPDK's test program, without huge pages: as two guests that send to each other as fast as they can, and as a backend of
 * vhost-user in C that forwards between them.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf } from './cpu-seconds.js';

const PROGRAM = 'dpdk-testpmd';
const DRIVERS = '/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0';
const SOURCE = fileURLToPath(new URL('../../../bench/traffic/sealable-memory.c', import.meta.url));
/** The checksum of a frame is none of its octets here, and a part of `txpkts`. */
const PLAIN = ['--no-huge', '--no-shconf', '--no-pci', '--no-telemetry'];
const LOOK_MS = 20;

export interface GuestResult {
  /** Frames that were received by both, per second. */
  readonly framesPerSecond: number;
}

export class Testpmd {
  readonly #folder = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
  readonly #library = join(this.#folder, 'sealable.so');

  constructor() {
    if (spawnSync(PROGRAM, ['--version']).error !== undefined || !existsSync(DRIVERS))
      throw new Error(
        'DPDK is missing: install dpdk-dev, librte-net-virtio23, librte-net-vhost23, librte-mempool-ring23 and librte-bus-vdev23',
      );
    const { status } = spawnSync('cc', ['-O2', '-Wall', '-shared', '-fPIC', '-o', this.#library, SOURCE]);
    if (status !== 0) throw new Error('the program cc is missing: install the package gcc');
  }

  /** Where a backend listens for guests. */
  get sockets(): readonly [string, string] {
    return [join(this.#folder, 'a'), join(this.#folder, 'b')];
  }

  /** The backend in C, on processor 0. */
  async backend(): Promise<{ cpuSeconds: () => number; stop: () => Promise<void> }> {
    const vdevs = this.sockets.map((path, index) => `--vdev=net_vhost${index},iface=${path},queues=1`);
    const child = spawnDpdk(
      ['--lcores', '0@1,1@0', '-m', '128', ...vdevs, ...drivers('librte_net_vhost')],
      ['--total-num-mbufs=8192', '--nb-cores=1', '--forward-mode=io', '--auto-start'],
    );
    const output = text(child.stdout);
    while (!this.sockets.every((path) => existsSync(path))) {
      if (child.exitCode !== null) throw new Error(await output);
      await delay(LOOK_MS);
    }
    return {
      cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
      stop: async () => {
        await end(child);
        await output;
      },
    };
  }

  /** Two guests, on processor 1, that send frames of this length to each other for some seconds. */
  async guests(length: number, seconds: number): Promise<GuestResult> {
    const address = (index: number): string => `02:00:00:00:01:0${index}`;
    const vdevs = this.sockets.map(
      (path, index) =>
        `--vdev=net_virtio_user${index},path=${path},queues=1,queue_size=1024,mac=${address(index)}`,
    );
    const child = spawnDpdk(
      ['-l', '0,1', '-m', '256', ...vdevs, ...drivers('librte_net_virtio')],
      [
        ...['--total-num-mbufs=16384', '--nb-cores=1', '--forward-mode=flowgen', `--txpkts=${length}`],
        ...[`--eth-peer=0,${address(1)}`, `--eth-peer=1,${address(0)}`],
      ],
      { LD_PRELOAD: this.#library },
    );
    const output = text(child.stdout);
    // Both have connected by then.
    await delay(3000);
    child.stdin.write('start\n');
    await delay(seconds * 1000);
    await end(child);
    const received = [...(await output).matchAll(/RX-packets: (\d+)/g)]
      .slice(0, 2)
      .map(([, count]) => Number(count));
    return { framesPerSecond: received.reduce((sum, count) => sum + count, 0) / seconds };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function drivers(name: string): string[] {
  return [name, 'librte_mempool_ring', 'librte_bus_vdev'].flatMap((each) => ['-d', `${DRIVERS}/${each}.so`]);
}

function spawnDpdk(
  eal: readonly string[],
  options: readonly string[],
  environment: Record<string, string> = {},
) {
  return spawn(PROGRAM, [...PLAIN, ...eal, '--', '-i', ...options], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

/** Has it stop forwarding, print its counters, and end. */
async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.stdin?.write('stop\nquit\n');
  await exited;
}
