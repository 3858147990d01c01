import t from 'tap';
import { canonical, canonicalNio, nio } from '../../../src/run/links/nio.js';
import { describeIssues } from '../../../src/base/errors/validation.js';

const udp = { type: 'nio_udp', lport: 1, rhost: 'h', rport: 65_535 };

const FITTING: readonly object[] = [
  udp,
  { ...udp, suspend: true, filters: {} },
  { ...udp, filters: { delay: [10] } },
  { type: 'nio_generic_ethernet', ethernet_device: 'eth0' },
  { type: 'nio_linux_ethernet', ethernet_device: 'eth0' },
  { type: 'nio_ethernet', ethernet_device: 'eth0' },
  { type: 'nio_tap', tap_device: 'tap0' },
  { type: 'nio_unix', local_file: '/a', remote_file: '/b' },
  { type: 'nio_vde', control_file: '/a', local_file: '/b' },
  { type: 'nio_vmnet', vmnet: 'vmnet1' },
  { type: 'nio_nat' },
  { type: 'nio_null' },
];

const UNFIT: readonly unknown[] = [
  null,
  [],
  'nio_null',
  {},
  { type: 'nio_what' },
  { type: 'nio_null', more: 1 },
  { type: 'nio_tap' },
  { type: 'nio_tap', tap_device: '' },
  { type: 'nio_tap', tap_device: 'x'.repeat(256) },
  { type: 'nio_tap', tap_device: 7 },
  { type: 'nio_unix', local_file: '/a' },
  { ...udp, lport: 0 },
  { ...udp, lport: 65_536 },
  { ...udp, lport: 1.5 },
  { ...udp, lport: 1e300 },
  { ...udp, lport: '1' },
  { ...udp, rport: undefined },
  { ...udp, rhost: '' },
  { ...udp, suspend: 1 },
  { ...udp, filters: [] },
  { ...udp, filters: null },
  { ...udp, colour: 'red' },
];

void t.test('every kind of attachment is understood', (t) => {
  for (const given of FITTING) t.ok(nio.safeParse(given).success, JSON.stringify(given));
  t.end();
});

void t.test('anything else is told of as a whole, in the words of the contract', (t) => {
  for (const given of UNFIT) {
    const parsed = nio.safeParse(given);
    t.notOk(parsed.success, JSON.stringify(given));
    if (parsed.error !== undefined)
      t.match(describeIssues(parsed.error), /^[^;]* is not valid under any of the given schemas$/);
  }
  const long = nio.safeParse({ type: 'x'.repeat(100_000) });
  t.ok(long.error !== undefined && describeIssues(long.error).length < 1000);
  t.end();
});

void t.test('the echo is what it leads to and no more, with its keys in order', (t) => {
  for (const given of FITTING) {
    const echo = canonical(nio.parse(given));
    t.ok(canonicalNio.safeParse(echo).success, JSON.stringify(echo));
    t.same(Object.keys(echo), Object.keys(echo).sort());
  }
  t.equal(
    JSON.stringify(canonical(nio.parse({ ...udp, suspend: true, filters: {} }))),
    '{"lport":1,"rhost":"h","rport":65535,"type":"nio_udp"}',
  );
  t.equal(JSON.stringify(canonical({ type: 'nio_null' })), '{"type":"nio_null"}');
  t.end();
});
