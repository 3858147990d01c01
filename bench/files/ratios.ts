/** One side against another, round by round: rates move with the machine, and their ratio less. */
import { figure, type Figure } from '../measurement.js';

export interface Ratio {
  readonly of: string;
  readonly to: string;
  readonly aim?: string;
}

/** A side that was not measured has no ratio. */
export function ratioFigures(
  name: string,
  ratesBySide: ReadonlyMap<string, readonly number[]>,
  ratios: readonly Ratio[],
): Figure[] {
  return ratios.flatMap(({ of, to, aim }) => {
    const above = ratesBySide.get(of);
    const below = ratesBySide.get(to);
    if (above === undefined || below === undefined) return [];
    const values = above.map((rate, round) => rate / (below[round] ?? Number.NaN));
    return [figure(`${name}, ${of} / ${to}`, '', values, aim)];
  });
}
