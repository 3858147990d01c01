/**
 * Steps that can be undone and done again. They run one after the other, in the order in which they were asked for: a step
 * can be undone from the moment it begins, and is undone when it has ended.
 */

interface Step {
  readonly name: string;
  /** Shows at once what the step will do; `hide` takes that back when it fails. */
  readonly show?: () => void;
  readonly hide?: () => void;
  /** Rejects when it has changed nothing. */
  run(): Promise<void>;
  undo(): Promise<void>;
}

export class Steps {
  readonly #failed: (error: unknown) => void;
  readonly #changed: () => void;
  readonly #done: Step[] = [];
  readonly #undone: Step[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(failed: (error: unknown) => void, changed: () => void) {
    this.#failed = failed;
    this.#changed = changed;
  }

  /** The name of the step that `undo` would undo. */
  get undoable(): string | undefined {
    return this.#done.at(-1)?.name;
  }

  get redoable(): string | undefined {
    return this.#undone.at(-1)?.name;
  }

  do(step: Step): Promise<void> {
    this.#done.push(step);
    this.#undone.length = 0;
    return this.#run(step);
  }

  undo(): Promise<void> {
    const step = this.#done.pop();
    if (step === undefined) return Promise.resolve();
    this.#undone.push(step);
    step.hide?.();
    return this.#inTurn(step, async () => {
      try {
        await step.undo();
      } catch (error) {
        step.show?.();
        throw error;
      }
    });
  }

  redo(): Promise<void> {
    const step = this.#undone.pop();
    if (step === undefined) return Promise.resolve();
    this.#done.push(step);
    return this.#run(step);
  }

  #run(step: Step): Promise<void> {
    step.show?.();
    return this.#inTurn(step, async () => {
      try {
        await step.run();
      } catch (error) {
        step.hide?.();
        throw error;
      }
    });
  }

  /** A step that fails is forgotten: nobody knows what undoing it would do. */
  #inTurn(step: Step, work: () => Promise<void>): Promise<void> {
    this.#changed();
    this.#last = this.#last.then(async () => {
      if (!this.#done.includes(step) && !this.#undone.includes(step)) return;
      try {
        await work();
      } catch (error) {
        forget(this.#done, step);
        forget(this.#undone, step);
        this.#changed();
        this.#failed(error);
      }
    });
    return this.#last;
  }
}

function forget(steps: Step[], step: Step): void {
  const index = steps.indexOf(step);
  if (index !== -1) steps.splice(index, 1);
}
