/** The clock of the farm: spans of time, and work that is done later. Simulations have one that is turned by hand. */
export interface FarmClock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Does the work so many milliseconds later, unless what is returned is called before. */
  after(milliseconds: number, work: () => void): () => void;
}

/** The result of the work; undefined when it takes longer, or fails. */
export function within<Result>(
  clock: FarmClock,
  milliseconds: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const callOff = clock.after(milliseconds, () => {
      resolve(undefined);
    });
    const end = (result: Result | undefined): void => {
      callOff();
      resolve(result);
    };
    work.then(end, () => {
      end(undefined);
    });
  });
}
