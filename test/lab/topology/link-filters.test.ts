import t from 'tap';
import { acceptFilters, FILTER_TYPES, storedFilters } from '../../../src/lab/topology/link-filters.js';

void t.test('the offered filters are the five of the contract, in its order, and then ours', (t) => {
  t.same(
    FILTER_TYPES.map(({ type, parameters }) => [type, parameters]),
    [
      [
        'frequency_drop',
        [{ name: 'Frequency', minimum: -1, maximum: 32767, type: 'int', unit: 'th packet' }],
      ],
      ['packet_loss', [{ name: 'Chance', minimum: 0, maximum: 100, type: 'int', unit: '%' }]],
      [
        'delay',
        [
          { name: 'Latency', minimum: 0, maximum: 32767, unit: 'ms', type: 'int' },
          { name: 'Jitter (-/+)', minimum: 0, maximum: 32767, unit: 'ms', type: 'int' },
        ],
      ],
      ['corrupt', [{ name: 'Chance', minimum: 0, maximum: 100, unit: '%', type: 'int' }]],
      ['bpf', [{ name: 'Filters', type: 'text' }]],
      [
        'rate',
        [
          { name: 'Rate', minimum: 0, maximum: 100_000_000, unit: 'kbit/s', type: 'int' },
          { name: 'Queue limit', minimum: 0, maximum: 32767, unit: 'ms', type: 'int' },
        ],
      ],
      ['duplicate', [{ name: 'Chance', minimum: 0, maximum: 100, unit: '%', type: 'int' }]],
      [
        'reorder',
        [
          { name: 'Chance', minimum: 0, maximum: 100, unit: '%', type: 'int' },
          { name: 'Hold', minimum: 0, maximum: 32767, unit: 'ms', type: 'int' },
        ],
      ],
    ],
  );
  for (const { name, description } of FILTER_TYPES) t.ok(name.length > 0 && description.length > 20, name);
  t.end();
});

void t.test('values within their limits are kept', (t) => {
  const given = {
    frequency_drop: [-1],
    packet_loss: [100],
    delay: [32767, 0],
    corrupt: [1],
    bpf: ['icmp\nip'],
    rate: [64, 100],
    duplicate: [100],
    reorder: [3, 0],
  };
  t.same(acceptFilters(given), given);
  t.same(acceptFilters({ delay: [5] }), { delay: [5] }, 'later parameters may be left out');
  t.end();
});

void t.test('zeros reset a filter', (t) => {
  t.same(acceptFilters({ corrupt: [0], delay: [0, 0], frequency_drop: [0], packet_loss: [0], bpf: [] }), {});
  t.same(acceptFilters({ bpf: [' \n '], delay: [], corrupt: [0.9] }), {});
  t.same(
    acceptFilters({ rate: [0, 50], reorder: [0, 50], duplicate: [0] }),
    {},
    'how much of it comes first',
  );
  t.same(acceptFilters({ delay: [0, 50] }), { delay: [0, 50] }, 'jitter alone is a filter');
  t.end();
});

void t.test('fractions are cut off, and texts are trimmed', (t) => {
  t.same(acceptFilters({ delay: [10.7, 1.2], bpf: ['\n icmp \n'] }), { delay: [10, 1], bpf: ['icmp'] });
  t.end();
});

void t.test('anything else is refused with the name of the filter', (t) => {
  const wrong: readonly Record<string, unknown>[] = [
    { bogus: [5] },
    { constructor: [5] },
    { delay: 5 },
    { delay: null },
    { delay: 'abc' },
    { delay: { 0: 5 } },
    { delay: [null] },
    { delay: ['five'] },
    { delay: [true] },
    { delay: [Infinity] },
    { delay: [NaN] },
    { delay: [-1] },
    { delay: [32768] },
    { delay: [1, -1] },
    { delay: [1, 2, 3] },
    { packet_loss: [101] },
    { rate: [100_000_001] },
    { rate: [1, 32_768] },
    { duplicate: [101] },
    { duplicate: [1, 1] },
    { reorder: [101] },
    { reorder: [1, -1] },
    { frequency_drop: [-2] },
    { bpf: [5] },
    { bpf: ['a', 'b'] },
    { bpf: ['x'.repeat(65_537)] },
  ];
  for (const filters of wrong) {
    const [name = ''] = Object.keys(filters);
    const expected = { status: 400, message: new RegExp(`^JSON schema error in filters: ${name}: `) };
    t.throws(() => acceptFilters(filters), expected, JSON.stringify(filters).slice(0, 40));
  }
  t.end();
});

void t.test('invalid stored filters are passed over, and never an error', (t) => {
  const filters: Record<string, unknown> = {
    bogus: [5],
    delay: [10, 2],
    packet_loss: [150],
    corrupt: ['many'],
    frequency_drop: null,
    duplicate: [0],
    bpf: [' icmp '],
    rate: { 0: 5 },
  };
  t.same(storedFilters({ filters }), { delay: [10, 2], bpf: ['icmp'] });
  t.same(storedFilters({}), {});
  t.same(storedFilters({ filters: JSON.parse('{"__proto__": [1], "corrupt": [1]}') as object }), {
    corrupt: [1],
  });
  t.end();
});
