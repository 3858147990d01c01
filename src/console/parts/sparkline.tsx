/** A line of what a figure was in the last ten minutes. */
import type { JSX } from 'preact';
import { TEXTS } from '../texts.js';

interface SparklineProps {
  readonly label: string;
  /** The oldest first, one a second. */
  readonly values: readonly number[];
  /** The top of the plot; without it the largest value. */
  readonly top?: number;
  readonly text: (value: number) => string;
}

const WIDTH = 600;
const HEIGHT = 60;
/** Less than one a second is a line near the ground. */
const LEAST_TOP = 1;

export function Sparkline({ label, values, top, text }: SparklineProps): JSX.Element {
  const most = values.reduce((larger, value) => Math.max(larger, value), 0);
  const scale = HEIGHT / Math.max(top ?? most, LEAST_TOP);
  const left = WIDTH - values.length;
  const points = values.map((value, index) => `${left + index},${(HEIGHT - value * scale).toFixed(1)}`);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={TEXTS.dashboard.plot(label, text(values.at(-1) ?? 0), text(most))}
    >
      <path class="area" d={`M${left},${HEIGHT} L${points.join(' ')} L${WIDTH - 1},${HEIGHT} Z`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}
