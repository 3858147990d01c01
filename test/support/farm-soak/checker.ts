/** Tells whether a farm has kept its promises, by all that clients were told, all that etcd has stored, and all that runs. */
import {
  scopeOf,
  type AskedChange,
  type LoggedAnswer,
  type Quiet,
  type SoakHistory,
  type ToldStream,
} from './history.js';
import { readFindings } from './read-checker.js';
import { StoredHistory, type Tenure } from './stored-history.js';

/** The promises that were broken, as sentences; none when all were kept. */
export function findings(history: SoakHistory): string[] {
  const stored = new StoredHistory(history);
  const begins = beginsOf(history.asked);
  return [
    ...changesLost(history, stored),
    ...changesTwice(stored),
    ...lastDiffers(history, stored),
    ...orderBroken(history, stored),
    ...fencesBroken(history, stored),
    ...readFindings(history, stored),
    ...history.streams.flatMap((stream) => streamFindings(stream, stored, begins, history.asked)),
    ...history.quiet.flatMap((quiet) => quietFindings(quiet)),
  ];
}

/** Acknowledged is stored. Refused is not, or was removed again: a node that its compute refuses is not kept. */
function changesLost({ asked }: SoakHistory, stored: StoredHistory): string[] {
  return asked.flatMap(({ object, value, outcome, begun, ended }) => {
    const whenSet = stored.whenSet(object, value);
    const isThere = whenSet !== undefined;
    const isRemoved = stored
      .intervals(object)
      .some(({ value: next, from }) => next === undefined && from === whenSet?.to);
    const what = value === undefined ? `the removal of ${object}` : `${value} of ${object}`;
    if (outcome === 'done' && !isThere && !isOvertaken({ object, value, begun, ended }, asked, stored))
      return [`${what} was acknowledged and never stored`];
    // Many may ask for one removal.
    if (outcome === 'refused' && isThere && value !== undefined && !isRemoved)
      return [`${what} was refused and stored`];
    return [];
  });
}

/** Commits that wait share a transaction, which has the last value of each key: a change that came at the same time was stored in its place. */
function isOvertaken(
  { object, value, begun, ended }: Pick<AskedChange, 'object' | 'value' | 'begun' | 'ended'>,
  asked: readonly AskedChange[],
  stored: StoredHistory,
): boolean {
  return asked.some(
    (other) =>
      other.object === object &&
      other.value !== value &&
      other.begun < ended &&
      other.ended > begun &&
      stored.whenSet(object, other.value) !== undefined,
  );
}

/** A value that comes back was written a second time; what was removed does not come back. */
function changesTwice(stored: StoredHistory): string[] {
  return [...stored.objects].flatMap((object) => {
    const values = stored.intervals(object).map(({ value }) => value);
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    // The first is that nothing was there.
    const isBack = values.some(
      (value, index) => index > 1 && values[index - 1] === undefined && value !== undefined,
    );
    return [
      ...(twice === undefined ? [] : [`${twice} of ${object} was stored twice`]),
      ...(isBack ? [`${object} was removed and is there again`] : []),
    ];
  });
}

/** The records at the end are those that the revisions lead to. */
function lastDiffers({ last }: SoakHistory, stored: StoredHistory): string[] {
  const objects = new Set([...stored.objects, ...Object.keys(last)]);
  return [...objects].flatMap((object) => {
    const expected = stored.intervals(object).at(-1)?.value;
    if (expected === last[object]) return [];
    return [`${object} is ${last[object] ?? 'not there'} at the end instead of ${expected ?? 'not there'}`];
  });
}

/** A change that was asked for after another was acknowledged is stored after it. Removals do not count: several may ask for one. */
function orderBroken({ asked }: SoakHistory, stored: StoredHistory): string[] {
  const done = asked.flatMap((change) => {
    const { object, value, outcome } = change;
    const at = outcome === 'done' && value !== undefined ? stored.whenSet(object, value) : undefined;
    return at === undefined ? [] : [{ ...change, revision: at.from }];
  });
  done.sort((a, b) => a.revision - b.revision);
  let latestBegun = -Infinity;
  return done.flatMap(({ object, value, begun, ended }) => {
    const isLate = ended < latestBegun;
    latestBegun = Math.max(latestBegun, begun);
    return isLate
      ? [`${value ?? ''} of ${object} was acknowledged before an earlier revision was asked for`]
      : [];
  });
}

/** The owner alone stores, one at a time, and the one that answers is the one that has stored. */
function fencesBroken({ asked, logged }: SoakHistory, stored: StoredHistory): string[] {
  const broken = [...stored.overlaps];
  for (const { object, value, revision } of stored.changes) {
    if (stored.tenureOf(object, revision) === undefined)
      broken.push(`${value ?? 'the removal'} of ${object} was stored at ${revision} without an owner`);
  }
  const answers = new Map<string, LoggedAnswer[]>();
  for (const answer of logged) answers.set(answer.request, [...(answers.get(answer.request) ?? []), answer]);
  for (const { object, value, outcome, request } of asked) {
    const lines = request === undefined ? [] : (answers.get(request) ?? []);
    const servers = new Set(lines.filter(({ status }) => status < 300).map(({ server }) => server));
    if (servers.size > 1)
      broken.push(`${[...servers].join(' and ')} both answered ${request ?? ''} as its owner`);
    const [server] = servers;
    if (server === undefined) continue;
    if (outcome === 'refused') broken.push(`${request ?? ''} was done by ${server} and told as refused`);
    const at = outcome === 'done' && value !== undefined ? stored.whenSet(object, value) : undefined;
    const owner = at && stored.tenureOf(object, at.from)?.server;
    if (owner !== undefined && owner !== server)
      broken.push(`${value ?? ''} of ${object} was answered by ${server} and stored by ${owner}`);
  }
  return broken;
}

/** The time at which a change was first asked for, by object and value. */
function beginsOf(asked: readonly AskedChange[]): ReadonlyMap<string, number> {
  const begins = new Map<string, number>();
  for (const { object, value, begun } of asked) {
    const place = placeOf(object, value);
    begins.set(place, Math.min(begun, begins.get(place) ?? Infinity));
  }
  return begins;
}

const placeOf = (object: string, value: string | undefined): string => `${object} ${value ?? ''}`;

/**
 * A stream tells changes in their order, once, and none is missing between two that came from one owner. What it says of
 * a node may be about its state: the name may have been stored long before, and tells nothing of how far the stream is.
 */
function streamFindings(
  stream: ToldStream,
  stored: StoredHistory,
  begins: ReadonlyMap<string, number>,
  asked: readonly AskedChange[],
): string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  const once = new Set<string>();
  const spans = new Map<string, { tenure: Tenure; revisions: Set<number>; last: number }>();
  let cursor = 0;
  for (const { object, value, kind, part } of stream.told) {
    const place = placeOf(object, value);
    const at = stored.whenSet(object, value);
    if (at === undefined) {
      const own = asked.find((each) => each.object === object && each.value === value);
      if (own !== undefined && isOvertaken(own, asked, stored)) continue;
      broken.push(`a stream told ${value ?? 'the removal'} of ${object}, which was never stored`);
      continue;
    }
    if (kind !== 'updated' && once.has(`${kind} ${object}`))
      broken.push(`a stream told twice that ${object} is ${kind}`);
    once.add(`${kind} ${object}`);
    if (at.to < cursor) broken.push(`a stream told ${value ?? ''} of ${object} after later changes`);
    const isNew = !seen.has(place) && (begins.get(place) ?? -Infinity) > stream.opened;
    seen.add(place);
    const tenure = stored.tenureOf(object, at.from);
    if (!isNew || tenure === undefined) continue;
    const key = `${part} ${tenure.from}`;
    const span = spans.get(key) ?? { tenure, revisions: new Set(), last: 0 };
    spans.set(key, span);
    if (at.from < span.last) broken.push(`a stream told ${value ?? 'the removal'} of ${object} out of order`);
    span.last = Math.max(span.last, at.from);
    span.revisions.add(at.from);
    cursor = Math.max(cursor, at.from);
  }
  for (const { tenure, revisions, last } of spans.values()) {
    const first = Math.min(...revisions);
    for (const { object, value, revision } of stored.changes) {
      if (scopeOf(object) !== stream.scope || object.startsWith('project/')) continue;
      if (revision <= first || revision >= last || revision > tenure.to) continue;
      // The same value again is a change of something else.
      if (stored.whenSet(object, value)?.from !== revision || seen.has(placeOf(object, value))) continue;
      if ((begins.get(placeOf(object, value)) ?? -Infinity) > stream.opened)
        broken.push(`a stream did not tell ${value ?? 'the removal'} of ${object}`);
    }
  }
  return broken;
}

export function quietFindings({ wanted, running, programs, frames }: Quiet): string[] {
  const broken: string[] = [];
  for (const [node, { compute, started }] of Object.entries(wanted.nodes)) {
    const places = running.flatMap((each) =>
      each.nodes.filter((other) => other === node).map(() => each.compute),
    );
    if (places.join() !== compute)
      broken.push(`${node} is on ${places.join() || 'no compute'} instead of ${compute}`);
    const count = programs.filter((other) => other === node).length;
    if (count !== (started ? 1 : 0))
      broken.push(`${node} has ${count} programs and is ${started ? 'started' : 'stopped'}`);
  }
  for (const node of programs)
    if (wanted.nodes[node] === undefined) broken.push(`${node} has a program and was deleted`);
  for (const { compute, nodes, ends } of running) {
    for (const node of nodes)
      if (wanted.nodes[node] === undefined) broken.push(`${node} is on ${compute} and nobody wants it`);
    const ports = ends.map(({ port }) => port);
    if (new Set(ports).size !== ports.length) broken.push(`${compute} has given a port twice`);
    for (const { link } of ends)
      if (!wanted.links.includes(link)) broken.push(`${link} has an end on ${compute} and nobody wants it`);
  }
  for (const link of wanted.links) {
    const ends = running.flatMap((each) => each.ends.filter((end) => end.link === link));
    if (ends.length !== 2) broken.push(`${link} has ${ends.length} ends`);
  }
  if (frames.received !== frames.sent)
    broken.push(`${frames.received} of ${frames.sent} frames came over the link`);
  return broken;
}
