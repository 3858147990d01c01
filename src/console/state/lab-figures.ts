/** The labs at a glance, read again and again while a page shows them. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LabFiguresShape } from '../../api/shapes/lab-overview.js';
import { send } from '../api/call.js';
import { listLabFigures } from '../api/projects.js';
import { learnGrants } from './grants.js';

interface LabGlance {
  readonly figures: LabFiguresShape;
  /** Octets a second; undefined before the second reading. */
  readonly rate: number | undefined;
}

type Glances = ReadonlyMap<string, LabGlance>;

const PERIOD_MS = 3000;
const MILLISECONDS = 1000;

export function useLabFigures(): ReadonlySignal<Glances> {
  const glances = useSignal<Glances>(new Map());
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let readAt = 0;
    let isOver = false;
    const read = async (): Promise<void> => {
      // Nobody looks at a page that is hidden, and a server that is away is looked for elsewhere.
      if (!document.hidden) {
        const found = await send(listLabFigures()).catch(() => undefined);
        const now = performance.now();
        if (found !== undefined) {
          learnGrants(found);
          glances.value = glancesOf(found, glances.value, (now - readAt) / MILLISECONDS);
        }
        readAt = now;
      }
      if (!isOver) timer = setTimeout(() => void read(), PERIOD_MS);
    };
    void read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, []);
  return glances;
}

/** Counts begin anew when links are connected anew: then nothing has passed since. */
function glancesOf(found: readonly LabFiguresShape[], before: Glances, seconds: number): Glances {
  return new Map(
    found.map((figures) => {
      const earlier = before.get(figures.project_id)?.figures.running?.octets;
      const octets = figures.running?.octets;
      const isKnown = earlier !== undefined && octets !== undefined && seconds > 0;
      const rate = isKnown ? Math.max(0, octets - earlier) / seconds : undefined;
      return [figures.project_id, { figures, rate }] as const;
    }),
  );
}
