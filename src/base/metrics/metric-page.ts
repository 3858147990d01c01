/**
 * The text of metrics, as OpenMetrics 1.0 or as the format 0.0.4 that came before it. A family has all its samples in a
 * row: call `counter`, `gauge`, `histogram` or `info`, and then `sample` or `buckets` for each set of labels.
 */
import type { Histogram } from './histogram.js';

/** The names of all metrics begin so, but for those of the process, which have their usual names. */
const OWN = 'wirefarm_';

export type Labels = Readonly<Record<string, string | number>>;
export type MetricFormat = 'openmetrics' | 'text';

/** Writes some families. It yields wherever other work may come between. */
export type MetricSource = (page: MetricPage) => Iterable<void> | void;

export class MetricPage {
  readonly #isOpen: boolean;
  #text = '';
  /** The name of the samples of the family that is being written. */
  #name = '';

  constructor(format: MetricFormat) {
    this.#isOpen = format === 'openmetrics';
  }

  /** A count that never falls. The name is without `_total`. */
  counter(name: string, help: string): void {
    const full = ownName(name);
    this.#head(this.#isOpen ? full : `${full}_total`, 'counter', help);
    this.#name = `${full}_total`;
  }

  gauge(name: string, help: string): void {
    this.#name = ownName(name);
    this.#head(this.#name, 'gauge', help);
  }

  histogram(name: string, help: string): void {
    this.#name = ownName(name);
    this.#head(this.#name, 'histogram', help);
  }

  /** Facts that are all in the labels of samples, whose value is 1. The name is without `_info`. */
  info(name: string, help: string): void {
    const full = ownName(name);
    this.#name = `${full}_info`;
    this.#head(this.#isOpen ? full : this.#name, this.#isOpen ? 'info' : 'gauge', help);
  }

  sample(value: number, labels?: Labels): void {
    this.#text += `${this.#name}${labelText(labels)} ${value}\n`;
  }

  buckets({ bounds, counts, sum }: Histogram, labels: Labels = {}): void {
    let below = 0;
    for (const [index, count] of counts.entries()) {
      below += count;
      const le = boundText(bounds[index]);
      this.#text += `${this.#name}_bucket${labelText({ ...labels, le })} ${below}\n`;
    }
    this.#text += `${this.#name}_sum${labelText(labels)} ${sum}\n${this.#name}_count${labelText(labels)} ${below}\n`;
  }

  /** The text since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  /** Call it when all families are written. */
  end(): void {
    if (this.#isOpen) this.#text += '# EOF\n';
  }

  #head(name: string, type: string, help: string): void {
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }
}

/** The whole page, piece by piece. */
export function* metricText(sources: readonly MetricSource[], format: MetricFormat): Generator<string> {
  const page = new MetricPage(format);
  for (const source of sources) {
    const steps = (source(page) ?? [])[Symbol.iterator]();
    while (steps.next().done !== true) yield page.take();
    yield page.take();
  }
  page.end();
  yield page.take();
}

function ownName(name: string): string {
  return name.startsWith('process_') ? name : OWN + name;
}

function labelText(labels: Labels | undefined): string {
  if (labels === undefined) return '';
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`));
}

/** OpenMetrics writes whole numbers with a fraction. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}
