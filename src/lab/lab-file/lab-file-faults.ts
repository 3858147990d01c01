/** The faults that a plan finds in a lab file: all of them are told at once, each with its place in the file. */
import { messageOf, Refusal, refusals, type Fault } from '../../base/errors/errors.js';

const MOST_TOLD = 20;

export class LabFileFaults {
  readonly #faults: Fault[] = [];

  add(path: Fault['path'], reason: string): void {
    this.#faults.push({ path, reason });
  }

  /** The result of the work; undefined when it refuses, which is a fault at this place. */
  attempt<Result>(path: Fault['path'], work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.add(path, messageOf(error));
      return undefined;
    }
  }

  /** Refuses (400) a file with faults. */
  check(): void {
    if (this.#faults.length > 0) throw refusals.labFileRefused(this.#faults.slice(0, MOST_TOLD));
  }
}
