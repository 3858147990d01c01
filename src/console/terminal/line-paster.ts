/**
 * Pastes lines one by one, because many nodes lose what is typed while they are busy with a line: the next one follows when the
 * node has been silent for a moment.
 */
const QUIET_MS = 80;
/** A node that does not become silent gets the next line nevertheless. */
const LONGEST_WAIT_MS = 1500;

export class LinePaster {
  readonly #type: (line: string) => void;
  #waiting: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #since = 0;

  constructor(type: (line: string) => void) {
    this.#type = type;
  }

  paste(text: string): void {
    const isIdle = this.#waiting.length === 0;
    this.#waiting.push(...text.split(/(?<=[\r\n])(?<!\r(?=\n))/));
    if (isIdle) this.#next();
  }

  /** The node has printed something. */
  heard(): void {
    if (this.#timer === undefined || performance.now() - this.#since > LONGEST_WAIT_MS) return;
    clearTimeout(this.#timer);
    this.#wait();
  }

  /** Drops the lines that have not been typed yet. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = [];
  }

  #next(): void {
    this.#timer = undefined;
    const [line] = this.#waiting;
    if (line === undefined) return;
    this.#type(line);
    this.#since = performance.now();
    this.#wait();
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#waiting.shift();
      this.#next();
    }, QUIET_MS);
  }
}
