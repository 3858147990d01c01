import { pino } from 'pino';
import t from 'tap';
import { refusals } from '../../src/base/errors/errors.js';
import { Admission } from '../../src/http/admission.js';

const LOOPBACK = Uint8Array.of(127, 0, 0, 1);
const address = (...octets: readonly number[]): Uint8Array => Uint8Array.from(octets);

/** An admission over a table that has so much in use before the first connection. */
function admissionWith(most: number, inUse: number) {
  const log: string[] = [];
  const table = {
    most,
    inUse,
    looks: 0,
    byAddress: new Map<string, number>(),
    lowestFree: () => table.inUse,
    connections: () => {
      table.looks++;
      return new Map(table.byAddress);
    },
  };
  const admission = new Admission(table, pino({}, { write: (line: string) => log.push(line) }));
  const open = (from: Uint8Array): string | undefined => {
    const key = Buffer.from(from).toString('hex');
    table.inUse++;
    table.byAddress.set(key, (table.byAddress.get(key) ?? 0) + 1);
    const refusal = admission.opened(from);
    if (refusal === undefined) return undefined;
    close(from);
    return refusal.message;
  };
  const close = (from: Uint8Array): void => {
    const key = Buffer.from(from).toString('hex');
    table.inUse--;
    table.byAddress.set(key, (table.byAddress.get(key) ?? 0) - 1);
    admission.closed();
  };
  return { admission, table, log, open, close };
}

const FULL = refusals.tooManyConnections().message;
const OVER_SHARE = refusals.tooManyConnectionsOfOne().message;

void t.test('every connection that is taken leaves room for a file, and the reserve is left alone', (t) => {
  const { open, close, log } = admissionWith(256, 50);
  // 64 are kept, and half of the other 142 are for connections.
  for (let taken = 0; taken < 71; taken++) t.equal(open(LOOPBACK), undefined);
  t.equal(open(LOOPBACK), FULL);
  t.equal(open(LOOPBACK), FULL);
  close(LOOPBACK);
  t.equal(open(LOOPBACK), undefined, 'one that has gone makes room');
  t.equal(open(LOOPBACK), FULL);
  t.equal(log.length, 1, 'that is told once');
  t.match(log[0], /raise the limit of open files.*/);
  t.end();
});

void t.test('all other open connections count', (t) => {
  const { table, open } = admissionWith(256, 50);
  t.equal(open(LOOPBACK), undefined);
  table.inUse = 192;
  t.equal(open(LOOPBACK), FULL);
  table.inUse = Infinity;
  t.equal(open(LOOPBACK), FULL);
  table.inUse = 100;
  t.equal(open(LOOPBACK), undefined);
  t.end();
});

void t.test('a host that sets no limit is no reason to have none', (t) => {
  const { table, open } = admissionWith(2 ** 40, 50);
  for (let taken = 0; taken < 16_384; taken++) if (open(LOOPBACK) !== undefined) t.fail('refused');
  t.equal(open(LOOPBACK), FULL);
  t.equal(table.looks, 0, 'connections of this host are nobody’s share');
  t.end();
});

for (const [what, greedy, sameOwner, other] of [
  ['an IPv4 address', address(192, 0, 2, 1), address(192, 0, 2, 1), address(192, 0, 2, 2)],
  [
    'an IPv4 address in IPv6',
    address(...Array.from({ length: 10 }, () => 0), 255, 255, 192, 0, 2, 1),
    address(192, 0, 2, 1),
    address(...Array.from({ length: 10 }, () => 0), 255, 255, 192, 0, 2, 2),
  ],
  [
    'an IPv6 network',
    address(0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, ...Array.from({ length: 8 }, () => 1)),
    address(0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, ...Array.from({ length: 8 }, () => 2)),
    address(0x20, 1, 0xd, 0xb8, 0, 0, 0, 2, ...Array.from({ length: 8 }, () => 1)),
  ],
] as const) {
  void t.test(`${what} may have half`, (t) => {
    const { table, open, log } = admissionWith(256, 50);
    for (let taken = 0; taken < 35; taken++) t.equal(open(greedy), undefined);
    t.equal(open(greedy), OVER_SHARE);
    t.equal(open(sameOwner), OVER_SHARE);
    for (let taken = 0; taken < 30; taken++) t.equal(open(other), undefined);
    t.equal(open(LOOPBACK), undefined);
    t.equal(table.looks, 1, 'they are not counted again and again');
    t.match(log[0], /of an address are refused/);
    t.end();
  });
}
