import t from 'tap';
import { traceng } from '../../../src/lab/kinds/traceng.js';
import { checkTable, choice, NO_TEXTS, TEXT } from '../../support/kind-tables.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

void t.test('every key of the schemas is taken or refused on purpose', (t) => {
  checkTable(t, traceng.properties, { default_destination: TEXT, ip_address: TEXT });
  const name = [['x'], ['', null, ...NO_TEXTS]] as const;
  checkTable(t, traceng.template.settings, {
    category: [
      ['router', 'guest', 3],
      ['kitchen', null, {}],
    ],
    console_type: choice('none'),
    default_destination: name,
    default_name_format: name,
    ip_address: name,
    name,
    symbol: name,
  });
  t.strictSame(traceng.template.defaults, {
    category: 'guest',
    console_type: 'none',
    default_name_format: 'TraceNG{0}',
    symbol: ':/symbols/traceng.svg',
  });
  t.end();
});

void t.test('its address is one of IPv4', (t) => {
  const made = traceng.create({}, NODE_ID);
  t.strictSame(made, { default_destination: '', ip_address: '' });
  const set = { default_destination: 'example.org', ip_address: '192.0.2.1' };
  t.strictSame(traceng.update(made, set, true), set);
  for (const ip_address of ['192.0.2', '::1', 'host', '192.0.2.1/24']) {
    const refused = { status: 409, message: `Invalid IP address: ${ip_address}` };
    t.throws(() => traceng.create({ ip_address }, NODE_ID), refused);
    t.throws(() => traceng.update(made, { ip_address }, false), refused);
  }
  t.end();
});

void t.test('it has one port, and no console that listens', (t) => {
  t.hasStrict(traceng.ports(portOwnerOf({})), [
    { adapter_number: 0, name: 'Ethernet0', port_number: 0, short_name: 'e0' },
  ]);
  t.same(traceng.consoleTypes, ['none']);
  t.end();
});
