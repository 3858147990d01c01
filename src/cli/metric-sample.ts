/** The metrics of a server at one moment, as its two pages tell them. */
import { CommandError } from './command-error.js';
import type { Server } from './server.js';

const PAGES = ['/metrics', '/metrics/projects'];
const PREFIX = 'wirefarm_';
const SERIES = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(?<=^|,)(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(.)/g;

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly value: number;
}

export class MetricSample {
  readonly #at = performance.now();
  readonly #families: ReadonlyMap<string, readonly Series[]>;

  private constructor(families: ReadonlyMap<string, readonly Series[]>) {
    this.#families = families;
  }

  static async of(server: Server): Promise<MetricSample> {
    const families = new Map<string, Series[]>();
    for (const page of PAGES) {
      const response = await server.ask(page, { method: 'GET', signal: new AbortController().signal });
      if (response.statusCode !== 200) throw await server.refusal(response);
      for (const line of (await server.textOf(response)).split('\n')) addSeries(families, line);
    }
    if (families.size === 0) throw new CommandError(`${server.origin} answered no metrics`);
    return new MetricSample(families);
  }

  /** The labels of each series of a family. Names of families are given without the prefix of the server. */
  labels(name: string): Labels[] {
    return this.#series(name).map(({ labels }) => labels);
  }

  /** The sum of a family for each value of one label. */
  sums(
    name: string,
    label: string,
    isMeant: (labels: Labels) => boolean = () => true,
  ): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const { labels, value } of this.#series(name)) {
      const key = labels[label] ?? '';
      if (isMeant(labels)) sums[key] = (sums[key] ?? 0) + value;
    }
    return sums;
  }

  /** The growth of a family's sums since an earlier sample, per second. */
  ratesSince(before: MetricSample, name: string, label: string): Record<string, number> {
    const seconds = (this.#at - before.#at) / 1000;
    const earlier = before.sums(name, label);
    const rates = Object.entries(this.sums(name, label)).map(([key, sum]): [string, number] => [
      key,
      // A server that was started again counts from zero.
      Math.max(0, sum - (earlier[key] ?? 0)) / seconds,
    ]);
    return Object.fromEntries(rates);
  }

  #series(name: string): readonly Series[] {
    return this.#families.get(PREFIX + name) ?? this.#families.get(name) ?? [];
  }
}

function addSeries(families: Map<string, Series[]>, line: string): void {
  const [, name = '', labels = '', value = ''] = SERIES.exec(line) ?? [];
  if (name === '') return;
  const family = families.get(name) ?? [];
  families.set(name, family);
  family.push({ labels: labelsOf(labels), value: Number(value) });
}

function labelsOf(text: string): Labels {
  const pairs = [...text.matchAll(LABEL)].map(([, name = '', value = '']): [string, string] => [
    name,
    value.replaceAll(ESCAPED, (_whole, sign: string) => (sign === 'n' ? '\n' : sign)),
  ]);
  return Object.fromEntries(pairs);
}
