/** Several digests of one sequence of bytes. Runs in worker threads. */
import { createHash, type Hash } from 'node:crypto';
import { readSync } from 'node:fs';
import { readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import type { DigestName, Digests } from './landing.js';

/** The names that Node has for them. */
const ALGORITHMS: Readonly<Record<DigestName, string>> = {
  md5: 'md5',
  sha: 'sha1',
  'sha-256': 'sha256',
  'sha-512': 'sha512',
};

const PIECE = 256 * 1024;

export class Digester {
  readonly #hashes: readonly (readonly [DigestName, Hash])[];

  constructor(names: readonly DigestName[]) {
    this.#hashes = names.map((name) => [name, createHash(ALGORITHMS[name])]);
  }

  update(bytes: Uint8Array): void {
    for (const [, hash] of this.#hashes) hash.update(bytes);
  }

  /** The digest of the bytes up to now; undefined if this digest is not computed. */
  soFar(wanted: DigestName): string | undefined {
    return this.#hashes
      .find(([name]) => name === wanted)?.[1]
      .copy()
      .digest('hex');
  }

  /** The digests of all bytes; ends the digester. */
  finish(): Digests {
    return Object.fromEntries(this.#hashes.map(([name, hash]) => [name, hash.digest('hex')]));
  }
}

/** Digests a file from its current position on. Returns undefined when word 0 is set meanwhile, which cancels it. */
export function digestFile(
  fd: number,
  names: readonly DigestName[],
  cancelled: Int32Array<SharedArrayBuffer>,
): Digests | undefined {
  readOnlyWhatIsAskedFor(fd);
  const digester = new Digester(names);
  const piece = new Uint8Array(PIECE);
  for (;;) {
    if (Atomics.load(cancelled, 0) !== 0) return undefined;
    const length = readSync(fd, piece, 0, PIECE, null);
    if (length === 0) return digester.finish();
    digester.update(piece.subarray(0, length));
  }
}
