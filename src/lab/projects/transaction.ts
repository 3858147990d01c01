/**
 * The changes of one commit. Working state changes at once, so that the requests of one commit see each other;
 * what readers and listeners see changes only when the commit has succeeded. A failed request, or a failed
 * commit, is undone in reverse.
 */
import type { Change } from '../../base/store/store.js';

export class Transaction {
  readonly #changes: Change[] = [];
  readonly #undo: (() => void)[] = [];
  readonly #publish: (() => void)[] = [];

  get changes(): readonly Change[] {
    return this.#changes;
  }

  /** Adds a change to the commit. */
  store(change: Change): void {
    this.#changes.push(change);
  }

  /** Adds the undo of a change of the working state that was just made. */
  onUndo(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Adds work for the moment when everything is stored; runs in order. Must not throw. */
  onStored(publish: () => void): void {
    this.#publish.push(publish);
  }

  /** Runs one request of the commit: when it throws, nothing of it is left. */
  attempt<Result>(work: (transaction: Transaction) => Result): Result {
    const changes = this.#changes.length;
    const undo = this.#undo.length;
    const publish = this.#publish.length;
    try {
      return work(this);
    } catch (error) {
      this.#changes.length = changes;
      this.#publish.length = publish;
      this.#undoDownTo(undo);
      throw error;
    }
  }

  undoAll(): void {
    this.#undoDownTo(0);
  }

  publishAll(): void {
    for (const publish of this.#publish) publish();
  }

  #undoDownTo(count: number): void {
    while (this.#undo.length > count) this.#undo.pop()?.();
  }
}
