/** A real virtual PC: the program vpcs, with a terminal because it refuses to run without one. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { scratchFolder, type Teardown } from './scratch.js';

const PROMPT = 'VPCS> ';

/** Names the package of what is missing; false when nothing is. */
export function missingVpcs(): string | false {
  const isThere = (program: string): boolean => spawnSync('which', [program]).status === 0;
  if (!isThere('script')) return 'the program script is missing: install the package bsdutils';
  return isThere('vpcs') ? false : 'the program vpcs is missing: install the package vpcs';
}

export class VirtualPc {
  readonly #child: ChildProcess;
  #output = '';
  readonly #waiting = new Set<() => void>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.on('data', (bytes: Buffer) => {
      this.#output += bytes.toString();
      for (const look of this.#waiting) look();
    });
  }

  /** Frames leave from `localPort` for `remotePort`; `id` is the last octet of its MAC address. */
  static async start(t: Teardown, id: number, localPort: number, remotePort: number): Promise<VirtualPc> {
    const command = `exec vpcs -i 1 -m ${id} -s ${localPort} -c ${remotePort} -t 127.0.0.1`;
    const child = spawn('script', ['-qfec', command, '/dev/null'], {
      cwd: scratchFolder(t),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const pc = new VirtualPc(child);
    const exited = once(child, 'exit');
    t.teardown(async () => {
      child.stdin.write('quit\n');
      await exited;
    });
    await pc.#until((output) => output.endsWith(PROMPT));
    return pc;
  }

  /** Runs one command; returns what it printed. */
  async run(command: string): Promise<string> {
    this.#output = '';
    this.#child.stdin?.write(`${command}\n`);
    return this.#until((output) => output.includes('\n') && output.endsWith(PROMPT));
  }

  async #until(isComplete: (output: string) => boolean): Promise<string> {
    while (!isComplete(this.#output)) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
    return this.#output;
  }
}
