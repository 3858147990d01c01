/** The Ethernet hub: ports without settings. */
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
  type MappedPort,
} from './ports-mapping.js';

const hubPort = z.strictObject({ name: z.string().min(1).max(255), port_number: z.int().min(0) });

interface HubProperties extends Readonly<Record<string, unknown>> {
  readonly ports_mapping?: readonly MappedPort[] | undefined;
}

export const ethernetHub: NodeKind = {
  type: 'ethernet_hub',
  properties: z.strictObject({ ports_mapping: z.array(hubPort).max(LARGEST_PORT_COUNT).optional() }),
  create: (given: HubProperties) => ({ ports_mapping: given.ports_mapping ?? defaultPorts({}) }),
  update(current, given: HubProperties, isConnected) {
    const list = given.ports_mapping;
    if (list === undefined || isDeepStrictEqual(list, storedList(current))) return current;
    if (isConnected) throw refusals.hubConnected();
    return { ...current, ports_mapping: renumbered(list) };
  },
  ports: positionedPorts,
  linkType: 'ethernet',
  consoleTypes: [],
};
