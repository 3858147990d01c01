/**
 * A network namespace of a test's own: what is done there (interfaces, addresses, a small MTU) touches nobody
 * else and goes with it. Sockets and TAPs that are opened inside stay there, whoever uses them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import koffi from 'koffi';
import type { Teardown } from './scratch.js';
import { eventually } from './eventually.js';

const CLONE_NEWNET = 0x4000_0000;
const FOLDER = '/run/netns';

let made = 0;

export class NetworkNamespace {
  readonly name = `wirefarm-${process.pid}-${++made}`;

  constructor(t: Teardown) {
    if (made === 1) sweep();
    execFileSync('ip', ['netns', 'add', this.name]);
    t.teardown(() => {
      execFileSync('ip', ['netns', 'del', this.name]);
    });
    // Otherwise the kernel sends frames of its own wherever an interface comes up.
    this.inside(() => {
      for (const which of ['all', 'default']) {
        writeFileSync(`/proc/sys/net/ipv6/conf/${which}/disable_ipv6`, '1');
      }
    });
  }

  ip(...words: readonly string[]): string {
    return execFileSync('ip', ['-n', this.name, ...words], { encoding: 'utf8' });
  }

  /** Waits until the kernel has noticed that an interface has its carrier: it drops what is sent before. */
  async isUp(device: string): Promise<void> {
    await eventually(
      `${device} is up`,
      () => this.ip('link', 'show', device).includes('state UP') || undefined,
    );
  }

  /** Runs `work`, which must not wait, with this thread in the namespace. */
  inside<Result>(work: () => Result): Result {
    const outside = openSync('/proc/thread-self/ns/net', 'r');
    try {
      enter(`${FOLDER}/${this.name}`);
      return work();
    } finally {
      setNamespace(outside);
      closeSync(outside);
    }
  }
}

/** Removes the namespaces of tests that were killed: their process has gone. */
export function sweep(): void {
  for (const name of existsSync(FOLDER) ? readdirSync(FOLDER) : []) {
    const [, pid] = /^wirefarm-(\d+)-/.exec(name) ?? [];
    // Another test may be at the same.
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) spawnSync('ip', ['netns', 'del', name]);
  }
}

/** Says why no namespaces can be made here; false when they can. */
export function lackForNamespaces(): string | false {
  if (process.platform !== 'linux') return 'it takes Linux';
  if (spawnSync('ip', ['-V']).error !== undefined) return 'it takes the program ip';
  const name = `wirefarm-${process.pid}-probe`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return 'it takes the right to make namespaces';
  execFileSync('ip', ['netns', 'del', name]);
  return false;
}

function enter(path: string): void {
  const namespace = openSync(path, 'r');
  setNamespace(namespace);
  closeSync(namespace);
}

function setNamespace(descriptor: number): void {
  const setns = koffi.load(null).func('int setns(int, int)') as (fd: number, kind: number) => number;
  if (setns(descriptor, CLONE_NEWNET) !== 0) throw new Error(`setns: error ${koffi.errno()}`);
}
