import t from 'tap';
import { atmSwitch } from '../../../src/lab/kinds/atm-switch.js';
import { seededRandom } from '../../support/seeded-random.js';
import { portOwnerOf } from '../../support/port-owners.js';

type Mappings = Readonly<Record<string, unknown>>;
const isAccepted = (mappings: Mappings): boolean => atmSwitch.properties.safeParse({ mappings }).success;
const create = (mappings: Mappings): unknown => atmSwitch.create(atmSwitch.properties.parse({ mappings }));

void t.test('channels and paths within their limits are accepted', (t) => {
  const good: readonly Mappings[] = [
    {},
    { '1:0:100': '10:0:200' },
    { '1:10': '2:20' },
    { '0:0:0': '65535:4095:65535' },
    { '1:0': '2:4095' },
    { '1:101': '10:202', '1:102:5': '3:1:5' },
  ];
  for (const mappings of good) {
    t.ok(isAccepted(mappings), JSON.stringify(mappings));
    t.same(create(mappings), { mappings });
  }
  t.end();
});

void t.test('a text that is no mapping is refused before anything is stored', (t) => {
  const bad: readonly Mappings[] = [
    { '1:2:3': '4:5' },
    { '1:2': '4:5:6' },
    { '1': '2' },
    { '1:2:3:4': '1:2:3:4' },
    { 'a:1:2': '1:1:2' },
    { '1:1:2': '1::2' },
    { '': '1:2' },
    { '1:4096:0': '2:0:0' },
    { '1:0:65536': '2:0:0' },
    { '65536:0:0': '2:0:0' },
    { '1:-1:0': '2:0:0' },
    { '1:1.5:0': '2:0:0' },
    { ' 1:1:0': '2:0:0' },
    { '1:1:0\n': '2:0:0' },
    { '1:1': 5 },
    { '1:1': null },
    { '1:1:9999999999': '2:0:0' },
    { ['1'.repeat(65)]: '1:2' },
  ];
  for (const mappings of bad) t.notOk(isAccepted(mappings), JSON.stringify(mappings));
  t.notOk(atmSwitch.properties.safeParse({ later: 1 }).success);
  t.notOk(atmSwitch.properties.safeParse({ mappings: ['1:2'] }).success);
  t.end();
});

void t.test('an input has one output, in both directions', (t) => {
  const conflict = { status: 409, message: /is already mapped to/ };
  t.throws(() => create({ '1:0:100': '2:0:1', '3:0:1': '1:0:100' }), conflict);
  t.throws(() => create({ '1:0:100': '2:0:1', '01:0:100': '3:0:1' }), conflict);
  t.throws(() => create({ '1:1': '2:2', '1:01': '3:3' }), conflict);
  t.same(create({ '1:0:100': '2:0:1', '2:0:1': '1:0:100' }), {
    mappings: { '1:0:100': '2:0:1', '2:0:1': '1:0:100' },
  });
  t.end();
});

void t.test('a path that would hide a channel of its port is refused, and both are named', (t) => {
  t.throws(() => create({ '1:5': '2:5', '1:5:100': '3:0:1' }), {
    status: 409,
    message: 'The virtual path 1:5 would hide the virtual channel 1:5:100',
  });
  t.throws(() => create({ '9:0:1': '2:07:1', '1:1': '2:7' }), {
    status: 409,
    message: /would hide/,
  });
  t.ok(create({ '1:5': '2:5', '1:6:100': '3:5:1' }), 'another VPI or another port is another matter');
  t.end();
});

void t.test('an update replaces the mappings, and may empty them', (t) => {
  const current = { mappings: { '1:1': '2:2' }, later: 1 };
  t.same(atmSwitch.update(current, { mappings: {} }, true), { mappings: {}, later: 1 });
  t.same(atmSwitch.update(current, {}, true), current);
  t.throws(() => atmSwitch.update(current, { mappings: { '1:1': '2:2', '3:3': '1:1' } }, false), {
    status: 409,
    message: /already mapped/,
  });
  t.end();
});

void t.test('its ports are those that the mappings name, ascending', (t) => {
  const ports = atmSwitch.ports(portOwnerOf({ mappings: { '10:0:1': '2:0:1', '2:5': '1:5' } }));
  t.same(
    ports.map((port) => port.port_number),
    [1, 2, 10],
  );
  t.same(ports[0], {
    adapter_number: 0,
    data_link_types: { ATM: 'DLT_ATM_RFC1483' },
    link_type: 'serial',
    name: '1',
    port_number: 1,
    short_name: '1',
  });
  t.end();
});

void t.test('ports of what was stored once never fail', (t) => {
  const stored: readonly Mappings[] = [
    {},
    { mappings: null },
    { mappings: 5 },
    { mappings: ['1:2', 'x', null] },
    { mappings: { x: 5, '1:2': null, '70000:1': '3:1', '': '' } },
  ];
  t.same(
    stored.map((properties) => atmSwitch.ports(portOwnerOf(properties)).map((port) => port.port_number)),
    [[], [], [], [0, 1, 2], [1, 3]],
  );
  t.end();
});

void t.test('whatever is accepted is consistent: each input once, no path over channels', (t) => {
  const random = seededRandom(5);
  const side = (): string =>
    Array.from({ length: 2 + Math.floor(random() * 2) }, () => Math.floor(random() * 3)).join(':');
  let accepted = 0;
  for (let round = 0; round < 2000; round++) {
    const mappings = Object.fromEntries(
      Array.from({ length: 1 + Math.floor(random() * 3) }, () => [side(), side()]),
    );
    if (!isAccepted(mappings)) continue;
    try {
      create(mappings);
    } catch {
      continue;
    }
    accepted++;
    const outputs = new Map<string, Set<string>>();
    for (const [a, b] of Object.entries(mappings)) {
      outputs.set(a, (outputs.get(a) ?? new Set()).add(b));
      outputs.set(b, (outputs.get(b) ?? new Set()).add(a));
    }
    for (const [input, set] of outputs) {
      if (set.size > 1) t.fail(`${input} has two outputs in ${JSON.stringify(mappings)}`);
      const path = input.split(':').slice(0, 2).join(':');
      if (path !== input && outputs.has(path)) t.fail(`${path} hides ${input}`);
    }
  }
  t.ok(accepted > 100, `${accepted} accepted`);
  t.end();
});
