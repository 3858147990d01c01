/** Sees the disks of the server become full, and have room again. */
import type { Remember } from '../../lab/history-event.js';
import type { WatchedDisk } from '../measure-tasks.js';

/** A disk is full when less than this share of it is free, and has room again at twice as much. */
const FULL = 0.01;

export class DiskWatch {
  readonly #remember: Remember;
  readonly #full = new Set<string>();

  constructor(remember: Remember) {
    this.#remember = remember;
  }

  readonly look = (disks: readonly WatchedDisk[]): void => {
    for (const { part, size, free } of disks) {
      const share = free / size;
      if (share < FULL && !this.#full.has(part)) {
        this.#full.add(part);
        this.#remember(undefined, { kind: 'disk_full', message: `The disk of ${part} is full` });
      } else if (share >= 2 * FULL && this.#full.delete(part))
        this.#remember(undefined, { kind: 'disk_has_room', message: `The disk of ${part} has room again` });
    }
  };
}
