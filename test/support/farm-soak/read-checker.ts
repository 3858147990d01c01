/**
 * Reads are as of one moment of what they are about, the nodes and links of one project or the list of projects: after all that was
 * acknowledged or seen before them, and before all that was asked for later. A change of another project may be stored
 * before one that waits for its compute is shown.
 */
import { scopeOf, type AskedRead, type SoakHistory } from './history.js';
import type { StoredHistory } from './stored-history.js';

interface Moment {
  readonly scope: string;
  readonly time: number;
  readonly revision: number;
}

export function readFindings({ asked, reads }: SoakHistory, stored: StoredHistory): string[] {
  const broken: string[] = [];
  /** Nothing older may be seen by reads that begin after the time. */
  const floors: Moment[] = [];
  /** Nothing as new may be seen by reads that end before the time. */
  const roofs: Moment[] = [];
  for (const { object, value, outcome, begun, ended } of asked) {
    const at = stored.whenSet(object, value);
    if (at === undefined) continue;
    const scope = readScope(object);
    if (outcome === 'done') floors.push({ scope, time: ended, revision: at.from });
    // Others may have asked for the removal before.
    if (value !== undefined) roofs.push({ scope, time: begun, revision: at.from });
  }
  for (const read of [...reads].sort((a, b) => a.begun - b.begun)) {
    const scope = readScope(read.covers);
    const isOfIt = (moment: Moment): boolean => moment.scope === scope;
    const floor = Math.max(
      0,
      ...floors.filter(isOfIt).flatMap(({ time, revision }) => (time < read.begun ? [revision] : [])),
    );
    const roof = Math.min(
      Infinity,
      ...roofs.filter(isOfIt).flatMap(({ time, revision }) => (time > read.ended ? [revision] : [])),
    );
    const moment = momentOf(read, stored, floor, roof);
    if (moment === undefined)
      broken.push(`${wordsOf(read)} at ${read.begun} is of no moment: ${reason(read, stored, floor, roof)}`);
    else floors.push({ scope, time: read.ended, revision: moment });
  }
  return broken;
}

const readScope = (object: string): string => (object.startsWith('project/') ? 'projects' : scopeOf(object));

/** The first revision that fits. Of one with several changes a part may have been seen: they may be of several requests. */
function momentOf(read: AskedRead, stored: StoredHistory, floor: number, roof: number): number | undefined {
  const fitting = fittingOf(read, stored);
  const candidates = [floor, ...fitting.flatMap((spans) => spans.map(({ from }) => from))]
    .filter((revision) => revision >= floor && revision < roof)
    .sort((a, b) => a - b);
  return candidates.find((revision) => fitting.every((spans) => has(spans, revision)));
}

type Spans = readonly { readonly from: number; readonly to: number }[];
const has = (spans: Spans, revision: number): boolean =>
  spans.some(({ from, to }) => from <= revision && revision <= to);

function objectsOf({ covers, values }: AskedRead, stored: StoredHistory): string[] {
  const known = [...stored.objects].filter((object) =>
    covers.endsWith('/') ? object.startsWith(covers) : object === covers,
  );
  return [...new Set([...known, ...Object.keys(values)])];
}

/** For each object the times at which it was as the read says. */
function fittingOf(read: AskedRead, stored: StoredHistory): Spans[] {
  return objectsOf(read, stored).map((object) =>
    stored
      .intervals(object)
      .filter((each) => each.value === read.values[object])
      .map(({ from, to }) => ({ from, to: stored.isShared(to) ? to : to - 1 })),
  );
}

function reason(read: AskedRead, stored: StoredHistory, floor: number, roof: number): string {
  const objects = objectsOf(read, stored);
  const fitting = fittingOf(read, stored);
  for (const [index, object] of objects.entries()) {
    const spans = fitting[index] ?? [];
    const value = read.values[object] ?? 'absence';
    if (spans.length === 0) return `${value} of ${object} was never stored`;
    if (spans.every(({ to }) => to < floor)) return `${value} of ${object} is older than ${floor}`;
    if (spans.every(({ from }) => from >= roof)) return `${value} of ${object} is of the future`;
  }
  return 'its parts are of different ones';
}

const wordsOf = ({ client, covers }: AskedRead): string => `a read of ${covers} by client ${client}`;
