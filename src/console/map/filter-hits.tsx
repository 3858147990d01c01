/** The frames on which each filter of a link has acted, each way, once a second. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { FilterHitsShape } from '../../api/shapes/links.js';
import { send } from '../api/call.js';
import { showFilterHits } from '../api/lab.js';
import type { LabMap } from './lab-map.js';
import type { LinkFacts } from './scene.js';
import { MAP_TEXTS } from './texts.js';
import { short } from './words.js';

interface FilterHitsProps {
  readonly lab: LabMap;
  readonly link: LinkFacts;
  /** The ends to which the first and the second way lead. */
  readonly names: readonly [string, string];
}

/** Filters that are set, or have acted before. */
export function FilterHits({ lab, link, names }: FilterHitsProps): JSX.Element | null {
  const hits = useSignal<FilterHitsShape | undefined>(undefined);
  const isAsking = useSignal(false);
  const set = Object.keys({ ...link.filters, ...link.forward, ...link.backward });
  const { value: tick } = lab.rateRevision;
  useEffect(() => {
    if ((set.length === 0 && hits.value !== undefined) || isAsking.peek()) return;
    isAsking.value = true;
    send(showFilterHits(lab.id, link.id))
      .then(
        (found) => (hits.value = found),
        // The link may be gone by now, and otherwise the next second asks again.
        () => undefined,
      )
      .finally(() => (isAsking.value = false));
  }, [tick, set.join(' ')]);
  if (hits.value === undefined) return null;
  const { forward, backward } = hits.value;
  const titles = MAP_TEXTS.hitNames;
  const shown = Object.keys(titles).filter(
    (type) => set.includes(type) || (forward[type] ?? 0) + (backward[type] ?? 0) > 0,
  ) as (keyof typeof titles)[];
  if (shown.length === 0) return null;
  return (
    <table>
      <caption>{MAP_TEXTS.hits}</caption>
      <thead>
        <tr>
          <th scope="col">{MAP_TEXTS.filter}</th>
          <th scope="col">→ {names[0]}</th>
          <th scope="col">← {names[1]}</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((type) => (
          <tr key={type}>
            <th scope="row">{titles[type]}</th>
            <td>{short(forward[type] ?? 0)}</td>
            <td>{short(backward[type] ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
