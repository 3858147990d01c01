/**
 * A disk that loses what was not synced: looks at what this process writes below a folder, tells what a power cut would
 * leave of it, and lets calls fail. A sync that fails forgets some of the sectors that it should have written, as the
 * kernel does. Names are taken to be on the disk at once.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { Random } from './random.js';
import type { Teardown } from './scratch.js';

const SECTOR = 512;

export type DiskCall =
  | 'writeSync'
  | 'fdatasyncSync'
  | 'fsyncSync'
  | 'ftruncateSync'
  | 'renameSync'
  | 'linkSync';
type Call = (...given: unknown[]) => unknown;

interface SimulatedFile {
  /** As it is on the disk for certain. */
  durable: Buffer;
  /** Sectors that were written since. */
  readonly pending: Set<number>;
}

export class SimulatedDisk {
  readonly #folder: string;
  readonly #random: Random;
  readonly #files = new Map<number, SimulatedFile>();
  readonly #originals: typeof fs = { ...fs };
  /** Decides which calls fail; returns the code of the error. */
  failing: (call: DiskCall) => string | undefined = () => undefined;

  constructor(t: Teardown, folder: string, random: Random) {
    this.#folder = folder;
    this.#random = random;
    const names = [
      'writeSync',
      'fdatasyncSync',
      'fsyncSync',
      'ftruncateSync',
      'renameSync',
      'linkSync',
    ] as const;
    const calls = fs as unknown as Record<DiskCall, Call>;
    for (const name of names) {
      calls[name] = (...given) => this.#call(name, given);
    }
    syncBuiltinESMExports();
    t.teardown(() => {
      for (const name of names) calls[name] = (this.#originals as unknown as Record<DiskCall, Call>)[name];
      syncBuiltinESMExports();
    });
  }

  /** Makes the other folder what this one would be after a power cut now. */
  cutPower(into: string): void {
    const { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } = this.#originals;
    rmSync(into, { recursive: true, force: true });
    cpSync(this.#folder, into, { recursive: true });
    for (const name of readdirSync(this.#folder, { recursive: true }) as string[]) {
      const file = this.#files.get(statSync(join(this.#folder, name)).ino);
      if (file === undefined) continue;
      const left = this.#leftOf(file, readFileSync(join(this.#folder, name)));
      writeFileSync(join(into, name), left);
    }
  }

  #call(name: DiskCall, given: unknown[]): unknown {
    const original = (this.#originals as unknown as Record<DiskCall, Call>)[name];
    const file = typeof given[0] === 'number' ? this.#fileOf(given[0]) : undefined;
    const isOurs = file !== undefined || String(given[0]).startsWith(this.#folder);
    const code = isOurs ? this.failing(name) : undefined;
    if (code !== undefined) {
      if (file !== undefined && name.endsWith('syncSync')) this.#forget(given[0] as number, file);
      throw Object.assign(new Error(`${code}: simulated, ${name}`), {
        code,
        syscall: name.replace('Sync', ''),
      });
    }
    const result = original(...given);
    if (file !== undefined) this.#note(name, given, file);
    return result;
  }

  #note(name: DiskCall, given: readonly unknown[], file: SimulatedFile): void {
    if (name === 'writeSync') {
      const [, , , length, position] = given as [number, unknown, unknown, number, number];
      for (let at = Math.floor(position / SECTOR); at * SECTOR < position + length; at++)
        file.pending.add(at);
    } else if (name.endsWith('syncSync')) {
      const content = this.#contentOf(given[0] as number);
      // A large file is compared sector by sector only where it was written.
      if (content.length !== file.durable.length) file.durable = Buffer.from(content);
      else
        for (const at of file.pending)
          content.copy(file.durable, at * SECTOR, at * SECTOR, (at + 1) * SECTOR);
      file.pending.clear();
    }
  }

  /** The kernel drops pages that could not be written, and nobody knows which were. */
  #forget(fd: number, file: SimulatedFile): void {
    const left = this.#leftOf(file, this.#contentOf(fd));
    this.#originals.ftruncateSync(fd, left.length);
    this.#originals.writeSync(fd, left, 0, left.length, 0);
    file.durable = left;
    file.pending.clear();
  }

  #leftOf(file: SimulatedFile, content: Buffer): Buffer {
    const left = Buffer.alloc(Math.max(content.length, file.durable.length));
    file.durable.copy(left);
    for (const at of file.pending) {
      if (this.#random.chance(0.5)) content.copy(left, at * SECTOR, at * SECTOR, (at + 1) * SECTOR);
    }
    return left.subarray(0, content.length);
  }

  #fileOf(fd: number): SimulatedFile | undefined {
    const path = this.#originals.readlinkSync(`/proc/self/fd/${fd}`);
    if (!path.startsWith(`${this.#folder}/`)) return undefined;
    const stats = this.#originals.fstatSync(fd);
    if (!stats.isFile()) return undefined;
    let file = this.#files.get(stats.ino);
    // An empty file is a new one, which may have the number of one that was removed.
    if (file === undefined || stats.size === 0) {
      file = { durable: Buffer.alloc(0), pending: new Set() };
      this.#files.set(stats.ino, file);
    }
    return file;
  }

  #contentOf(fd: number): Buffer {
    const content = Buffer.alloc(this.#originals.fstatSync(fd).size);
    this.#originals.readSync(fd, content, 0, content.length, 0);
    return content;
  }
}
