/** Time that is turned by hand, and machines in it, which can be paused, killed and cut off. */

interface Event {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
}

export class SimulatedTime {
  /** A heap: the first is the next. */
  readonly #events: Event[] = [];
  #now = 0;
  #order = 0;

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, work: () => void): void {
    this.#add({ at: this.#now + milliseconds, order: this.#order++, work });
  }

  /** Lets everything happen up to a moment. Between two events all that follows from the first has run. */
  async run(until: number): Promise<void> {
    for (let event = this.#events[0]; event !== undefined && event.at <= until; event = this.#events[0]) {
      this.#take();
      this.#now = event.at;
      event.work();
      await settled();
    }
    this.#now = until;
  }

  #add(event: Event): void {
    const events = this.#events;
    let index = events.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = events[parent];
      if (above === undefined || isBefore(above, event)) break;
      events[index] = above;
      index = parent;
    }
    events[index] = event;
  }

  #take(): void {
    const events = this.#events;
    const last = events.pop();
    if (last === undefined || events.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [events[child], events[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child++;
      const least = events[child];
      if (least === undefined || isBefore(last, least)) break;
      events[index] = least;
      index = child;
    }
    events[index] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Resolves when no promise has anything left to do: the queue of ticks comes after that of promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}

/** A machine that runs one process. */
export class SimulatedMachine {
  readonly #time: SimulatedTime;
  /** Work that comes while it is paused. */
  #late: (() => void)[] | undefined;
  #isDead = false;
  /** Whether no message gets through. */
  isCut = false;

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  now(): number {
    return this.#time.now();
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isPaused(): boolean {
    return this.#late !== undefined;
  }

  /** Runs work now, or when the machine goes on; never when it is dead. */
  do(work: () => void): void {
    if (this.#isDead) return;
    if (this.#late === undefined) work();
    else this.#late.push(work);
  }

  after(milliseconds: number, work: () => void): () => void {
    let isCalledOff = false;
    this.#time.after(milliseconds, () => {
      this.do(() => {
        if (!isCalledOff) work();
      });
    });
    return () => {
      isCalledOff = true;
    };
  }

  pause(): void {
    this.#late ??= [];
  }

  goOn(): void {
    const late = this.#late ?? [];
    this.#late = undefined;
    for (const work of late) {
      this.#time.after(0, () => {
        this.do(work);
      });
    }
  }

  kill(): void {
    this.#isDead = true;
    this.#late = undefined;
  }
}
