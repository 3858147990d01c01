/** The C forwarder, compiled for this run, so that the comparison has no foreign function layer in it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Forwarder } from './forwarder.js';
import type { ForwarderPath } from './forwarder-path.js';

/** Nothing but compiled modules is in `dist`. */
const SOURCE = fileURLToPath(new URL('../../../bench/traffic/plain-relay.c', import.meta.url));

export class PlainRelays {
  readonly #folder = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
  readonly #program = join(this.#folder, 'plain-relay');

  constructor() {
    const { error, status, stderr } = spawnSync(
      'cc',
      ['-O2', '-Wall', '-pthread', '-o', this.#program, SOURCE],
      { encoding: 'utf8' },
    );
    if (error !== undefined) throw new Error('the program cc is missing: install the package gcc');
    if (status !== 0) throw new Error(`the C forwarder cannot be compiled: ${stderr}`);
  }

  start(ends: Pick<ForwarderPath, 'in' | 'out'>): Promise<Forwarder> {
    const ports = [ends.in.local, ends.in.remote, ends.out.local, ends.out.remote];
    return Forwarder.run(this.#program, ports.map(String));
  }

  /** Call when no relay runs any more. */
  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
