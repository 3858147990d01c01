/** Shows the progress of a transfer as one line that is written over; only on a terminal, not into a pipe. */
import { amount, duration, rate } from './quantities.js';

interface Terminal {
  columns(): number;
  draw(text: string): void;
}

const BETWEEN_LINES_MS = 100;
/** The rate is measured over this time, so that it follows the network and is still readable. */
const RATE_SPAN_MS = 5000;
const CLEAR_LINE = '\r\u001b[K';
const BAR_COLUMNS = 20;
/** For a terminal of unknown width. */
const USUAL_COLUMNS = 80;

interface Sample {
  readonly at: number;
  readonly position: number;
}

export class ProgressBar {
  readonly #terminal: Terminal | undefined;
  readonly #now: () => number;
  #title = '';
  #total: number | undefined;
  #position = 0;
  #samples: Sample[] = [];
  #drawnAt = -Infinity;

  constructor(terminal: Terminal | undefined, now: () => number = () => performance.now()) {
    this.#terminal = terminal;
    this.#now = now;
  }

  /** Begins a new piece of work at `position`. Without a total, only the amount is shown. */
  begin(title: string, total: number | undefined, position = 0): void {
    this.#title = title;
    this.#total = total;
    this.#position = position;
    this.#samples = [{ at: this.#now(), position }];
    this.#draw();
  }

  moved(bytes: number): void {
    this.#position += bytes;
    if (this.#terminal === undefined || this.#now() - this.#drawnAt < BETWEEN_LINES_MS) return;
    this.#draw();
  }

  /** Shows a text in place of the bar. */
  note(text: string): void {
    this.#line(text);
  }

  clear(): void {
    if (this.#drawnAt !== -Infinity) this.#terminal?.draw(CLEAR_LINE);
    this.#drawnAt = -Infinity;
  }

  #draw(): void {
    const now = this.#now();
    this.#drawnAt = now;
    this.#samples.push({ at: now, position: this.#position });
    while (this.#samples.length > 2 && now - (this.#samples[1]?.at ?? now) >= RATE_SPAN_MS)
      this.#samples.shift();
    const { at, position } = this.#samples[0] ?? { at: now, position: this.#position };
    const bytesPerSecond = now > at ? ((this.#position - position) * 1000) / (now - at) : 0;
    this.#line(
      [this.#title, ...this.#done(), rate(bytesPerSecond), ...this.#left(bytesPerSecond)].join('  '),
    );
  }

  #done(): string[] {
    if (this.#total === undefined) return [amount(this.#position)];
    const share = this.#total === 0 ? 1 : Math.min(this.#position / this.#total, 1);
    const bar = '#'.repeat(Math.floor(share * BAR_COLUMNS)).padEnd(BAR_COLUMNS, '.');
    const percent = String(Math.floor(share * 100)).padStart(3);
    return [`[${bar}]`, `${percent} %`, `${amount(this.#position)} of ${amount(this.#total)}`];
  }

  #left(bytesPerSecond: number): string[] {
    if (this.#total === undefined || bytesPerSecond === 0) return [];
    return [`${duration((this.#total - this.#position) / bytesPerSecond)} left`];
  }

  /** Cuts the line to the width of the terminal, because a broken line could not be written over. */
  #line(text: string): void {
    if (this.#terminal === undefined) return;
    this.#drawnAt = this.#now();
    this.#terminal.draw(`${CLEAR_LINE}${text.slice(0, Math.max(this.#terminal.columns() - 1, 0))}`);
  }
}

/** A bar on standard error, if that is a terminal. */
export function progressBar(isQuiet: boolean): ProgressBar {
  const { stderr } = process;
  if (isQuiet || !stderr.isTTY) return new ProgressBar(undefined);
  return new ProgressBar({
    columns: () => (stderr.columns > 0 ? stderr.columns : USUAL_COLUMNS),
    draw: (text) => {
      process.stderr.write(text);
    },
  });
}
