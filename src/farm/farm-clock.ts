/** The clock of the farm: spans of time, and work that is done later. Simulations have one that is turned by hand. */
export interface FarmClock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Does the work so many milliseconds later, unless what is returned is called before. */
  after(milliseconds: number, work: () => void): () => void;
}
