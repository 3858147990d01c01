/** The Ethernet switch: access, dot1q and qinq ports. Its console port is reserved and nothing listens there. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import type { NodeKind } from './node-kind.js';
import {
  defaultPorts,
  LARGEST_PORT_COUNT,
  positionedPorts,
  renumbered,
  storedList,
} from './ports-mapping.js';

const LARGEST_VLAN = 4094;

const switchPort = z
  .strictObject({
    name: z.string().min(1).max(255),
    port_number: z.int().min(0),
    type: z.enum(['access', 'dot1q', 'qinq']),
    vlan: z.int().min(1).max(LARGEST_VLAN).optional(),
    ethertype: z.enum(['', '0x8100', '0x88A8', '0x9100', '0x9200']).optional(),
  })
  .transform((port) => ({ ...port, vlan: port.vlan ?? 1 }));

type SwitchPort = z.output<typeof switchPort>;

interface SwitchProperties extends Readonly<Record<string, unknown>> {
  readonly ports_mapping?: readonly SwitchPort[] | undefined;
}

export const ethernetSwitch: NodeKind = {
  type: 'ethernet_switch',
  properties: z.strictObject({ ports_mapping: z.array(switchPort).max(LARGEST_PORT_COUNT).optional() }),
  create: (given: SwitchProperties) => ({
    ports_mapping: given.ports_mapping ?? defaultPorts({ type: 'access', vlan: 1 }),
  }),
  update(current, given: SwitchProperties, isConnected) {
    const list = given.ports_mapping;
    const stored = storedList(current);
    if (list === undefined || isDeepStrictEqual(list, stored)) return current;
    if (isConnected && list.length !== stored.length) throw refusals.switchConnected();
    return { ...current, ports_mapping: renumbered(list) };
  },
  ports: positionedPorts,
  linkType: 'ethernet',
  consoleTypes: ['none', 'telnet'],
};
