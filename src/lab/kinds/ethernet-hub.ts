/** The Ethernet hub: ports without settings. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { LINK_TYPE } from '../../engine/wire/pcap.js';
import type { SwitchKind } from './node-kind.js';
import {
  defaultPorts,
  fieldOf,
  LARGEST_PORT_COUNT,
  positionedPorts,
  renumbered,
  shownPorts,
  storedList,
  type MappedPort,
} from './ports-mapping.js';
import { templateSettings } from './template.js';

const hubPort = z.strictObject({ name: z.string().min(1).max(255), port_number: z.int().min(0) });

const portList = z.array(hubPort).max(LARGEST_PORT_COUNT).optional();
const look = { category: 'switch', default_name_format: 'Hub{0}', symbol: ':/symbols/hub.svg' };

interface HubProperties extends Readonly<Record<string, unknown>> {
  readonly ports_mapping?: readonly MappedPort[] | undefined;
}

export const ethernetHub: SwitchKind = {
  type: 'ethernet_hub',
  title: 'an Ethernet hub',
  alwaysRuns: true,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties: z.strictObject({ ports_mapping: portList }),
  shownProperties: shownPorts,
  consoleTypes: [],
  template: {
    settings: templateSettings({ ports_mapping: portList }),
    defaults: { ...look, ports_mapping: defaultPorts({}) },
  },
  builtinTemplate: {
    rank: 5,
    template: { template_id: 'b4503ea9-d6b6-3695-9fe4-1db3b39290b0', name: 'Ethernet hub', ...look },
  },
  medium: 'ethernet',
  capture: { linkType: LINK_TYPE.EN10MB, packets: 'frames' },
  connectionUnit: undefined,
  tables: [],
  create: (given: HubProperties) => ({ ports_mapping: given.ports_mapping ?? defaultPorts({}) }),
  update(current, given: HubProperties, isConnected) {
    const list = given.ports_mapping;
    if (list === undefined || isDeepStrictEqual(list, storedList(current))) return current;
    if (isConnected) throw refusals.hubConnected();
    return { ...current, ports_mapping: renumbered(list) };
  },
  ports: ({ properties }) => positionedPorts(properties),
  /** Clients of the compute mean the number that an entry names, not its place in the list. */
  canAttach: (properties, port) =>
    storedList(properties).some((entry) => Number(fieldOf(entry, 'port_number')) === port),
  deviceSettings: () => ({ kind: 'ethernet_hub', settings: null }),
};
