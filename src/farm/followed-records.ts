/** Records of the store that several servers change, as each of them follows them: one reading, then commit by commit. */
import type { Change, Key, Position, Store, StoredRecord } from '../base/store/store.js';
import type { FarmClock } from './farm-clock.js';

/** Takes the records below one path. Its methods must not throw. */
export interface RecordListener {
  /** All of them, at the beginning and whenever commits were missed. */
  replaced(records: readonly StoredRecord[]): void;
  /** The changes of one commit. */
  changed(changes: readonly Change[]): void;
}

interface Listening {
  readonly below: readonly string[];
  readonly listener: RecordListener;
}

interface FollowedRecordsOptions {
  readonly store: Pick<Store, 'read' | 'follow'>;
  readonly clock: FarmClock;
  /** With the first parts of their keys. */
  readonly listeners: readonly Listening[];
}

const AGAIN_MS = 500;

export class FollowedRecords {
  readonly #options: FollowedRecordsOptions;
  readonly #prefixes: readonly Key[];
  #isStopped = false;
  #stop: () => void = () => undefined;
  #reached = -1;
  /** Waits until this server has followed up to a position. */
  #waiting: { readonly position: number; readonly resolve: () => void }[] = [];

  constructor(options: FollowedRecordsOptions) {
    this.#options = options;
    this.#prefixes = options.listeners.flatMap(({ below }) => below.map((first) => [first]));
  }

  /** Resolves when the listeners have the records. Rejects when they cannot be read. */
  async start(): Promise<void> {
    const { records, position } = await this.#options.store.read(...this.#prefixes);
    if (this.#isStopped) return;
    for (const { below, listener } of this.#options.listeners) {
      listener.replaced(records.filter(({ key: [first = ''] }) => below.includes(first)));
    }
    this.#follow(position);
  }

  /** Resolves when the listeners have all changes up to the position. */
  async reached(position: Position): Promise<void> {
    if (this.#reached >= Number(position)) return;
    await new Promise<void>((resolve) => this.#waiting.push({ position: Number(position), resolve }));
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop();
  }

  #passed(position: Position): void {
    this.#reached = Number(position);
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ position: wanted }) => wanted > this.#reached);
    for (const { position: wanted, resolve } of waiting) if (wanted <= this.#reached) resolve();
  }

  #follow(position: Position): void {
    this.#passed(position);
    this.#stop = this.#options.store.follow(this.#prefixes, position, {
      committed: (changes) => {
        if (!this.#isStopped) this.#tell(changes);
      },
      passed: (at) => {
        this.#passed(at);
      },
      gone: () => {
        this.#readAgain();
      },
    });
  }

  #tell(changes: readonly Change[]): void {
    for (const { below, listener } of this.#options.listeners) {
      const own = changes.filter((change) => below.includes(keyOf(change)[0] ?? ''));
      if (own.length > 0) listener.changed(own);
    }
  }

  #readAgain(): void {
    if (this.#isStopped) return;
    this.start().catch(() => {
      this.#stop = this.#options.clock.after(AGAIN_MS, () => {
        this.#readAgain();
      });
    });
  }
}

export function keyOf(change: Change): Key {
  return 'put' in change ? change.put : 'remove' in change ? change.remove : change.clear;
}
