/**
 * Who may change the files of a project when: any number of writers at once, each for the moment in which its file
 * takes its place; or one that needs the folder as it is. Who waits for the folder alone goes before writers that come
 * later. A writer must not wait for anything but the disk.
 */
export class FolderGate {
  #writers = 0;
  /** The last who has the folder to itself, or waits for that. */
  #alone: Promise<void> | undefined;
  #onQuiet: (() => void) | undefined;

  /** Changes files. */
  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone;
    this.#writers++;
    try {
      return await work();
    } finally {
      this.#writers--;
      if (this.#writers === 0) this.#onQuiet?.();
    }
  }

  /** Runs while no file changes. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone;
    let open = (): void => undefined;
    this.#alone = new Promise((resolve) => {
      open = resolve;
    });
    try {
      if (this.#writers > 0) {
        await new Promise<void>((resolve) => {
          this.#onQuiet = resolve;
        });
      }
      return await work();
    } finally {
      this.#onQuiet = undefined;
      this.#alone = undefined;
      open();
    }
  }
}
