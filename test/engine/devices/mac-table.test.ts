import t from 'tap';
import {
  LARGEST_MAC_TABLE,
  MAC_LIFETIME_SECONDS,
  MacTable,
  SMALLEST_MAC_TABLE,
  type MacEntry,
} from '../../../src/engine/devices/mac-table.js';
import { formatAddress, isGroupAddress } from '../../../src/engine/wire/ethernet.js';
import { Random, testSeed } from '../../support/random.js';

/** A source that a guest may invent: any unicast address. */
function anySource(random: Random): [high: number, low: number] {
  return [random.below(0x10000) & 0xfeff, random.below(2 ** 32) | 0];
}

void t.test('a station is found where it was last seen', (t) => {
  const table = new MacTable();
  t.equal(table.find(0x0200, 1, 10, 0), -1);
  table.learn(0x0200, 1, 10, 3, 0);
  t.equal(table.find(0x0200, 1, 10, 0), 3);
  t.equal(table.find(0x0201, 1, 10, 0), -1);
  t.equal(table.find(0x0200, 2, 10, 0), -1);
  table.learn(0x0200, 1, 10, 0, 0);
  t.equal(table.find(0x0200, 1, 10, 0), 0, 'it moved');
  t.equal(table.list(0).length, 1);
  t.end();
});

void t.test('one address in two VLANs is two stations', (t) => {
  const table = new MacTable();
  table.learn(0xfeff, -1, 1, 1, 0);
  table.learn(0xfeff, -1, 4094, 2, 0);
  t.equal(table.find(0xfeff, -1, 1, 0), 1);
  t.equal(table.find(0xfeff, -1, 4094, 0), 2);
  t.equal(table.find(0xfeff, -1, 2, 0), -1);
  t.end();
});

void t.test('the address of zeros is an address', (t) => {
  const table = new MacTable();
  t.equal(table.find(0, 0, 0, 0), -1);
  table.learn(0, 0, 1, 5, 0);
  t.equal(table.find(0, 0, 1, 0), 5);
  t.end();
});

void t.test('group addresses are never learnt', (t) => {
  const table = new MacTable();
  table.learn(0xffff, -1, 1, 1, 0);
  table.learn(0x0180, 0xc2000000 | 0, 1, 1, 0);
  t.equal(table.find(0xffff, -1, 1, 0), -1);
  t.same(table.list(0), []);
  t.end();
});

void t.test('a station that is silent for 300 seconds is forgotten, one that speaks is not', (t) => {
  const table = new MacTable();
  table.learn(0x0200, 1, 1, 1, 1000);
  table.learn(0x0200, 2, 1, 2, 1000);
  table.learn(0x0200, 2, 1, 2, 1200);
  t.equal(table.find(0x0200, 1, 1, 1000 + MAC_LIFETIME_SECONDS), 1);
  t.equal(table.find(0x0200, 1, 1, 1001 + MAC_LIFETIME_SECONDS), -1, 'being looked for does not count');
  t.equal(table.find(0x0200, 2, 1, 1001 + MAC_LIFETIME_SECONDS), 2);
  t.same(
    table.list(1301).map(({ port, age_seconds }) => [port, age_seconds]),
    [[2, 101]],
  );
  table.learn(0x0200, 1, 1, 4, 1400);
  t.equal(table.find(0x0200, 1, 1, 1400), 4, 'it comes back elsewhere');
  t.equal(table.list(1400).length, 2);
  t.end();
});

void t.test('the stations of one port are forgotten, those of others are not', (t) => {
  const table = new MacTable();
  for (let station = 0; station < 100; station++) table.learn(0x0200, station, 1, station % 4, 0);
  table.forgetPort(2);
  for (let station = 0; station < 100; station++) {
    t.equal(table.find(0x0200, station, 1, 0), station % 4 === 2 ? -1 : station % 4);
  }
  t.equal(table.list(0).length, 75);
  t.end();
});

void t.test('the list is by VLAN and address', (t) => {
  const table = new MacTable();
  table.learn(0xaabb, 0xccddeeff | 0, 1, 7, 10);
  table.learn(0x0a00, 1, 20, 3, 13);
  table.learn(0x0200, 1, 20, 2, 12);
  t.same(table.list(15), [
    { mac: 'aa:bb:cc:dd:ee:ff', vlan: 1, port: 7, age_seconds: 5 },
    { mac: '02:00:00:00:00:01', vlan: 20, port: 2, age_seconds: 3 },
    { mac: '0a:00:00:00:00:01', vlan: 20, port: 3, age_seconds: 2 },
  ]);
  t.end();
});

void t.test('a table starts small, grows as stations come and loses none of them', (t) => {
  const random = new Random(testSeed(2));
  const table = new MacTable();
  t.equal(table.capacity, SMALLEST_MAC_TABLE);
  const stations = Array.from({ length: 300 }, () => anySource(random));
  stations.forEach(([high, low], station) => {
    table.learn(high, low, 1, station, 0);
  });
  t.ok(table.capacity >= 300, 'there is room for all');
  t.ok(table.capacity < LARGEST_MAC_TABLE, `it has grown to ${table.capacity} only`);
  stations.forEach(([high, low], station) => {
    if (table.find(high, low, 1, 0) !== station) t.fail(`station ${station} is lost`);
  });
  t.end();
});

void t.test('neighbouring addresses are spread over the buckets', (t) => {
  const table = new MacTable();
  for (let station = 0; station < 256; station++) table.learn(0x0c00, station * 0x10000, 1, 1, 0);
  for (let station = 0; station < 256; station++) table.learn(0x0c00, station, 1 + (station % 4), 1, 0);
  t.ok(table.capacity <= 4096, `the table has grown to ${table.capacity}`);
  t.end();
});

void t.test('stations that have gone leave their room to others', (t) => {
  const random = new Random(testSeed(3));
  const table = new MacTable();
  for (let seconds = 0; seconds < 1_000_000; seconds += 100) {
    table.learn(...anySource(random), 1, 1, seconds);
  }
  t.ok(table.capacity <= 2 * SMALLEST_MAC_TABLE, `the table has grown to ${table.capacity}`);
  t.end();
});

void t.test('clearing forgets everybody and gives the memory back', (t) => {
  const random = new Random(testSeed(4));
  const table = new MacTable();
  for (let count = 0; count < 10_000; count++) table.learn(...anySource(random), 1, 1, 0);
  table.learn(0x0200, 1, 1, 1, 0);
  table.clear();
  t.equal(table.capacity, SMALLEST_MAC_TABLE);
  t.equal(table.find(0x0200, 1, 1, 0), -1);
  t.same(table.list(0), []);
  table.learn(0x0200, 1, 1, 6, 0);
  t.equal(table.find(0x0200, 1, 1, 0), 6);
  t.end();
});

void t.test('a flood of addresses fills the table, and the silent give way to the loud', (t) => {
  const random = new Random(5);
  const table = new MacTable();
  table.learn(0x0200, 1, 1, 1, 0);
  table.learn(0x0200, 2, 1, 2, 0);
  for (let count = 0; count < 100_000; count++) {
    const seconds = 1 + Math.floor(count / 500);
    if (count % 100 === 0) table.learn(0x0200, 2, 1, 2, seconds);
    const [high, low] = anySource(random);
    table.learn(high, low, 1, 9, seconds);
    if (table.find(high, low, 1, seconds) !== 9) t.fail(`the station of frame ${count} was not learnt`);
    if (table.capacity > LARGEST_MAC_TABLE) t.fail(`the table has grown to ${table.capacity}`);
  }
  t.equal(table.capacity, LARGEST_MAC_TABLE);
  const { length } = table.list(201);
  t.ok(length <= LARGEST_MAC_TABLE && length > 0.9 * LARGEST_MAC_TABLE, `${length} entries`);
  t.equal(table.find(0x0200, 2, 1, 201), 2, 'who kept speaking is still known');
  t.equal(table.find(0x0200, 1, 1, 201), -1, 'who was silent is not');
  t.end();
});

/** The same in the simplest words: everything is kept for ever, and judged when it is looked at. */
class Stations {
  readonly #seen = new Map<string, MacEntry & { readonly seen: number }>();

  learn(high: number, low: number, vlan: number, port: number, seconds: number): void {
    if (isGroupAddress(high)) return;
    const mac = formatAddress(high, low);
    this.#seen.set(`${vlan} ${mac}`, { mac, vlan, port, age_seconds: 0, seen: seconds });
  }

  find(high: number, low: number, vlan: number, seconds: number): number {
    const entry = this.#seen.get(`${vlan} ${formatAddress(high, low)}`);
    return entry === undefined || seconds - entry.seen > 300 ? -1 : entry.port;
  }

  forgetPort(port: number): void {
    for (const [key, entry] of this.#seen) if (entry.port === port) this.#seen.delete(key);
  }

  list(seconds: number): MacEntry[] {
    return [...this.#seen.values()]
      .filter(({ seen }) => seconds - seen <= 300)
      .map(({ mac, vlan, port, seen }) => ({ mac, vlan, port, age_seconds: seconds - seen }))
      .sort((a, b) => a.vlan - b.vlan || (a.mac < b.mac ? -1 : 1));
  }
}

void t.test('the table does what a map does', (t) => {
  const random = new Random(testSeed(6));
  const table = new MacTable();
  const stations = new Stations();
  const addresses = Array.from({ length: 60 }, () => [random.below(0x10000), random.below(2 ** 32) | 0]);
  let seconds = 1000;
  for (let step = 0; step < 200_000; step++) {
    if (random.chance(0.1)) seconds += random.below(10);
    const [high = 0, low = 0] = random.pick(addresses);
    const vlan = 1 + random.below(3);
    if (random.chance(0.001)) {
      const port = random.below(8);
      table.forgetPort(port);
      stations.forgetPort(port);
      t.same(table.list(seconds), stations.list(seconds));
    } else if (random.chance(0.3)) {
      const port = random.below(8);
      table.learn(high, low, vlan, port, seconds);
      stations.learn(high, low, vlan, port, seconds);
    } else {
      const found = table.find(high, low, vlan, seconds);
      const wanted = stations.find(high, low, vlan, seconds);
      if (found !== wanted) t.equal(found, wanted, `step ${step}`);
    }
  }
  t.ok(table.capacity < LARGEST_MAC_TABLE, `it has grown to ${table.capacity}`);
  t.end();
});
