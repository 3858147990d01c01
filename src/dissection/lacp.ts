/** Link aggregation control (802.1AX), one of the slow protocols. */
import type { Description } from './description.js';
import type { Protocol } from './protocol.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';

const SUBTYPES = { 1: 'LACP', 2: 'marker', 3: 'OAM', 10: 'OSSP' } as const;
const LACPDU = 110;
/** Distances from the version, which follows the subtype. */
const AT = { actor: 1, partner: 21, collector: 41 } as const;
const STATES = [
  'active',
  'short',
  'aggregable',
  'synchronized',
  'collecting',
  'distributing',
  'defaulted',
  'expired',
];

export const SLOW: Protocol = {
  name: 'Slow',
  title: 'Slow protocol',
  classify(numbers) {
    numbers.go(1, keyOf(SPACE.slow, numbers.octet(0)));
  },
  describe(d) {
    const subtype = d.number('slow.subtype', 'Subtype', d.at, 1, SUBTYPES);
    d.say(`subtype ${subtype}`);
    d.go(d.at + 1, keyOf(SPACE.slow, subtype));
  },
};

export const LACP: Protocol = {
  name: 'LACP',
  title: 'Link aggregation control',
  classify(numbers) {
    numbers.go(LACPDU, NOTHING);
  },
  describe(d) {
    const { at } = d;
    d.number('lacp.version', 'Version', at, 1);
    const actor = side(d, 'actor', 'Actor', at + AT.actor);
    const partner = side(d, 'partner', 'Partner', at + AT.partner);
    d.number('lacp.collector.max_delay', 'Largest delay of the collector', at + AT.collector + 2, 2);
    d.say(`actor ${actor}; partner ${partner}`);
    d.go(at + LACPDU - 1, NOTHING);
  },
};

function side(d: Description, id: string, name: string, at: number): string {
  d.number(`lacp.${id}.sys_priority`, `${name} priority`, at + 2, 2);
  const system = d.mac(`lacp.${id}.sysid`, `${name} system`, at + 4);
  d.number(`lacp.${id}.key`, `${name} key`, at + 10, 2);
  d.number(`lacp.${id}.port_priority`, `${name} port priority`, at + 12, 2);
  const port = d.number(`lacp.${id}.port`, `${name} port`, at + 14, 2);
  d.number(`lacp.${id}.state`, `${name} state`, at + 16, 1, stateText);
  return `${system} port ${port}`;
}

function stateText(bits: number): string {
  const names = STATES.filter((_, bit) => (bits & (1 << bit)) !== 0);
  return names.length === 0 ? 'none' : names.join(', ');
}
