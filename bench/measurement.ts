/** The result of a bench: figures with their spread, and the aim they are held against. */

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** `at least 0.7`, where the figure has an aim. */
  readonly aim?: string;
}

export interface Bench {
  readonly name: string;
  run(): Promise<readonly Figure[]>;
}

export function figure(name: string, unit: string, values: readonly number[], aim?: string): Figure {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    name,
    unit,
    median: rounded(median(sorted)),
    least: rounded(sorted[0] ?? Number.NaN),
    most: rounded(sorted.at(-1) ?? Number.NaN),
    ...(aim === undefined ? {} : { aim }),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** `share` of the values are at most so large. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
}

/** Four significant digits: more would promise a steadiness that the machine does not have. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
