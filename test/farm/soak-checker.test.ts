/** The checker of the soak of a farm: it accepts a history without faults, and finds each mistake that is planted into it. */
import t from 'tap';
import { findings } from '../support/farm-soak/checker.js';
import type { SoakHistory } from '../support/farm-soak/history.js';

/** One project with two nodes and a link. It goes from one server to the other; one node is renamed, and removed at last. */
const clean: SoakHistory = {
  changes: [
    { revision: 11, object: 'project/P', value: 'lab' },
    { revision: 12, object: 'node/P/A', value: 'a1' },
    { revision: 13, object: 'node/P/B', value: 'b1' },
    { revision: 14, object: 'link/P/L', value: 'link' },
    { revision: 15, object: 'node/P/A', value: 'a2' },
    { revision: 23, object: 'node/P/A', value: 'a3' },
    { revision: 24, object: 'node/P/C', value: 'c1' },
    { revision: 25, object: 'node/P/D', value: 'd1' },
    { revision: 26, object: 'node/P/C' },
    // Its compute refused it.
    { revision: 27, object: 'node/P/E', value: 'e1' },
    { revision: 28, object: 'node/P/E' },
  ],
  owners: [
    { revision: 10, scope: 'P', server: 'one' },
    { revision: 20, scope: 'P' },
    { revision: 22, scope: 'P', server: 'two' },
  ],
  last: { 'project/P': 'lab', 'node/P/A': 'a3', 'node/P/B': 'b1', 'link/P/L': 'link', 'node/P/D': 'd1' },
  asked: [
    { client: 0, begun: 1, ended: 2, object: 'project/P', value: 'lab', outcome: 'done', request: 'r1' },
    { client: 0, begun: 3, ended: 4, object: 'node/P/A', value: 'a1', outcome: 'done', request: 'r2' },
    { client: 0, begun: 5, ended: 6, object: 'node/P/B', value: 'b1', outcome: 'done', request: 'r3' },
    { client: 0, begun: 7, ended: 8, object: 'link/P/L', value: 'link', outcome: 'unknown' },
    { client: 0, begun: 11, ended: 12, object: 'node/P/A', value: 'a2', outcome: 'done', request: 'r4' },
    { client: 1, begun: 13, ended: 14, object: 'node/P/B', value: 'b2', outcome: 'refused', request: 'r5' },
    { client: 1, begun: 15, ended: 19, object: 'node/P/B', value: 'b3', outcome: 'unknown' },
    { client: 0, begun: 30, ended: 32, object: 'node/P/A', value: 'a3', outcome: 'done', request: 'r6' },
    { client: 0, begun: 33, ended: 34, object: 'node/P/C', value: 'c1', outcome: 'done', request: 'r7' },
    { client: 0, begun: 35, ended: 36, object: 'node/P/D', value: 'd1', outcome: 'done', request: 'r8' },
    { client: 0, begun: 37, ended: 38, object: 'node/P/C', outcome: 'done', request: 'r9' },
    { client: 0, begun: 42, ended: 43, object: 'node/P/E', value: 'e1', outcome: 'refused' },
  ],
  reads: [
    { client: 1, begun: 2.5, ended: 2.6, covers: 'project/', values: { 'project/P': 'lab' } },
    { client: 1, begun: 3.5, ended: 4.5, covers: 'node/P/', values: {} },
    { client: 1, begun: 9, ended: 10, covers: 'node/P/', values: { 'node/P/A': 'a1', 'node/P/B': 'b1' } },
    { client: 1, begun: 31, ended: 31.5, covers: 'node/P/A', values: { 'node/P/A': 'a3' } },
    { client: 1, begun: 40, ended: 41, covers: 'node/P/C', values: {} },
  ],
  logged: [
    { server: 'one', request: 'r2', status: 201 },
    { server: 'one', request: 'r4', status: 200 },
    { server: 'one', request: 'r5', status: 409 },
    { server: 'two', request: 'r6', status: 200 },
  ],
  streams: [
    {
      scope: 'P',
      opened: 10,
      told: [
        // The state of a node whose name was stored long before the stream was opened.
        { object: 'node/P/B', value: 'b1', kind: 'updated', part: 0 },
        { object: 'node/P/A', value: 'a2', kind: 'updated', part: 0 },
        { object: 'node/P/B', value: 'b1', kind: 'updated', part: 0 },
        { object: 'node/P/A', value: 'a3', kind: 'updated', part: 1 },
        { object: 'node/P/C', value: 'c1', kind: 'created', part: 1 },
        { object: 'node/P/D', value: 'd1', kind: 'created', part: 1 },
        { object: 'node/P/C', kind: 'deleted', part: 1 },
      ],
    },
  ],
  quiet: [
    {
      wanted: {
        nodes: {
          'node/P/A': { compute: 'b', started: true },
          'node/P/B': { compute: 'c', started: true },
          'node/P/D': { compute: 'c', started: false },
        },
        links: ['link/P/L'],
      },
      running: [
        {
          compute: 'b',
          nodes: ['node/P/A'],
          ends: [{ link: 'link/P/L', port: 20_000 }],
        },
        {
          compute: 'c',
          nodes: ['node/P/B', 'node/P/D'],
          ends: [{ link: 'link/P/L', port: 20_000 }],
        },
      ],
      programs: ['node/P/A', 'node/P/B'],
      frames: { sent: 5, received: 5 },
    },
  ],
};

/** A list without an item, or with another in its place. */
function changed<Item>(items: readonly Item[], at: number, ...instead: readonly Item[]): Item[] {
  return items.flatMap((item, index) => (index === at ? instead : [item]));
}

const [stream, quiet] = [clean.streams[0], clean.quiet[0]];
if (stream === undefined || quiet === undefined) throw new Error('the history is short');
const [atB, atC] = quiet.running;
const [first, removed, created, between] = [stream.told[1], stream.told[6], stream.told[4], stream.told[5]];
const [ownerOne, ownerTwo] = [clean.owners[0], clean.owners[2]];
if (!atB || !atC || !first || !removed || !created || !between || !ownerOne || !ownerTwo)
  throw new Error('the history is short');
const told = (...events: typeof stream.told): Partial<SoakHistory> => ({
  streams: [{ ...stream, told: events }],
});
const read = (covers: string, values: Record<string, string>, begun = 50): Partial<SoakHistory> => ({
  reads: [...clean.reads, { client: 2, begun, ended: begun + 0.5, covers, values }],
});
const runs = (...running: typeof quiet.running): Partial<SoakHistory> => ({ quiet: [{ ...quiet, running }] });
const hasPrograms = (...programs: string[]): Partial<SoakHistory> => ({ quiet: [{ ...quiet, programs }] });
const asks = (at: number, change: Partial<SoakHistory['asked'][number]>): Partial<SoakHistory> => {
  const asked = clean.asked[at];
  return asked === undefined ? {} : { asked: changed(clean.asked, at, { ...asked, ...change }) };
};
const end = { link: 'link/P/L', port: 20_000 };

const MISTAKES: readonly (readonly [name: string, history: Partial<SoakHistory>, finding: RegExp])[] = [
  ['a lost change', asks(6, { outcome: 'done' }), /b3 of node\/P\/B was acknowledged and never stored/],
  [
    'a refused change that is stored',
    asks(4, { outcome: 'refused' }),
    /a2 of node\/P\/A was refused and stored/,
  ],
  [
    'a removal that is lost',
    { changes: changed(clean.changes, 8), last: { ...clean.last, 'node/P/C': 'c1' } },
    /the removal of node\/P\/C was acknowledged and never stored/,
  ],
  [
    'a change that is stored twice',
    {
      changes: [...clean.changes, { revision: 27, object: 'node/P/A', value: 'a1' }],
      last: { ...clean.last, 'node/P/A': 'a1' },
    },
    /a1 of node\/P\/A was stored twice/,
  ],
  [
    'an object that comes back',
    {
      changes: [...clean.changes, { revision: 27, object: 'node/P/C', value: 'c2' }],
      last: { ...clean.last, 'node/P/C': 'c2' },
    },
    /node\/P\/C was removed and is there again/,
  ],
  ['a store that has lost a record', { last: { 'project/P': 'lab' } }, /node\/P\/A is not there at the end/],
  [
    'changes in another order than they were asked for',
    asks(7, { begun: 0.1, ended: 0.2 }),
    /a3 of node\/P\/A was acknowledged before an earlier revision was asked for/,
  ],
  [
    'two owners in one epoch',
    { owners: [ownerOne, { ...ownerTwo, revision: 14 }] },
    /two and one own P in one epoch/,
  ],
  [
    'a former owner that stores',
    { owners: changed(clean.owners, 1, { revision: 14, scope: 'P' }) },
    /a2 of node\/P\/A was stored at 15 without an owner/,
  ],
  [
    'a server that answers for another',
    { logged: changed(clean.logged, 3, { server: 'one', request: 'r6', status: 200 }) },
    /a3 of node\/P\/A was answered by one and stored by two/,
  ],
  [
    'two servers that do one request',
    { logged: [...clean.logged, { server: 'two', request: 'r4', status: 200 }] },
    /one and two both answered r4/,
  ],
  [
    'a done change that is told as refused',
    { logged: changed(clean.logged, 2, { server: 'one', request: 'r5', status: 200 }) },
    /r5 was done by one and told as refused/,
  ],
  ['a stale read', read('node/P/A', { 'node/P/A': 'a1' }), /a1 of node\/P\/A is older than 26/],
  [
    'a client that goes back',
    {
      ...read('node/P/', {}, 4.6),
      ...asks(1, { outcome: 'unknown' }),
      reads: [
        { client: 1, begun: 3.5, ended: 4.2, covers: 'node/P/', values: { 'node/P/A': 'a1' } },
        { client: 1, begun: 4.3, ended: 4.5, covers: 'node/P/', values: {} },
      ],
    },
    /absence of node\/P\/A is older than 12/,
  ],
  [
    'a read of what was never stored',
    read('node/P/B', { 'node/P/B': 'b3' }),
    /b3 of node\/P\/B was never stored/,
  ],
  ['a read of the future', read('node/P/A', { 'node/P/A': 'a3' }, 20), /a3 of node\/P\/A is of the future/],
  [
    'a list of two moments',
    {
      ...asks(4, { begun: 5.2, ended: 12 }),
      ...read('node/P/', { 'node/P/A': 'a2' }, 4.4),
      reads: [{ client: 2, begun: 4.4, ended: 12.5, covers: 'node/P/', values: { 'node/P/A': 'a2' } }],
    },
    /its parts are of different ones/,
  ],
  ['a list without a project', read('project/', {}), /absence of project\/P is older than/],
  [
    'events out of order',
    told(...changed(changed(stream.told, 4, between), 5, created)),
    /c1 of node\/P\/C out of order/,
  ],
  [
    'an event that goes back to an earlier name',
    told(...stream.told, first),
    /a2 of node\/P\/A after later changes/,
  ],
  ['an event that is told twice', told(...stream.told, removed), /told twice that node\/P\/C is deleted/],
  ['an event that is missing', told(...changed(stream.told, 5)), /did not tell d1 of node\/P\/D/],
  [
    'an event of nothing',
    told(...stream.told, { object: 'node/P/D', value: 'd9', kind: 'updated', part: 1 }),
    /told d9 of node\/P\/D, which was never stored/,
  ],
  [
    'a doubled node',
    runs({ ...atB, nodes: ['node/P/A', 'node/P/D'] }, atC),
    /node\/P\/D is on b,c instead of c/,
  ],
  ['a node that is nowhere', runs({ ...atB, nodes: [] }, atC), /node\/P\/A is on no compute instead of b/],
  [
    'a node that was deleted',
    runs({ ...atB, nodes: ['node/P/A', 'node/P/C'] }, atC),
    /node\/P\/C is on b and nobody wants it/,
  ],
  ['a program that runs twice', hasPrograms('node/P/A', 'node/P/B', 'node/P/A'), /node\/P\/A has 2 programs/],
  ['a program that is lost', hasPrograms('node/P/A'), /node\/P\/B has 0 programs and is started/],
  [
    'a program of a stopped node',
    hasPrograms('node/P/A', 'node/P/B', 'node/P/D'),
    /node\/P\/D has 1 programs and is stopped/,
  ],
  [
    'a program of a deleted node',
    hasPrograms('node/P/A', 'node/P/B', 'node/P/C'),
    /node\/P\/C has a program and was deleted/,
  ],
  ['a link with one end', runs({ ...atB, ends: [] }, atC), /link\/P\/L has 1 ends/],
  ['a port given twice', runs({ ...atB, ends: [end, end] }, atC), /b has given a port twice/],
  [
    'an end of a deleted link',
    runs(atB, { ...atC, ends: [end, { link: 'link/P/M', port: 20_001 }] }),
    /link\/P\/M has an end on c/,
  ],
  [
    'frames that stop',
    { quiet: [{ ...quiet, frames: { sent: 5, received: 4 } }] },
    /4 of 5 frames came over the link/,
  ],
];

void t.test('a history without faults is accepted', (t) => {
  t.same(findings(clean), []);
  t.end();
});

void t.test('each planted mistake is found', (t) => {
  for (const [name, history, finding] of MISTAKES)
    t.match(findings({ ...clean, ...history }).join('\n'), finding, name);
  t.end();
});
