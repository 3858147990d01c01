/** NAT nodes: one port that leads out of the host. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { cloudPortList, givenPorts, mappedCloudPorts, type CloudPort } from './cloud-ports.js';
import type { NodeKind, Properties } from './node-kind.js';
import { storedList } from './ports-mapping.js';
import { templateSettings } from './template.js';
import { ETHERNET_CAPTURE } from './port-types.js';

const look = { category: 'guest', default_name_format: 'NAT{0}', symbol: ':/symbols/nat.svg' };
/** GNS3 names the bridge of libvirt here, whichever way leads out. */
const PORTS: readonly CloudPort[] = [{ interface: 'virbr0', name: 'nat0', port_number: 0, type: 'ethernet' }];

/** Clients send back what they have read. Refuses (409) anything else. */
function checkSame(given: Properties, list: readonly unknown[]): void {
  const wanted = givenPorts(given);
  if (wanted !== undefined && !isDeepStrictEqual(wanted, list)) throw refusals.natPortsFixed();
}

export const nat: NodeKind & { readonly type: 'nat' } = {
  type: 'nat',
  title: 'a NAT node',
  alwaysRuns: true,
  imageProperties: [],
  keepsContentElsewhere: false,
  cannotBeDuplicated: true,
  properties: z.strictObject({ ports_mapping: cloudPortList.optional() }),
  shownProperties: { ports_mapping: z.array(z.record(z.string(), z.unknown())) },
  consoleTypes: [],
  template: { settings: templateSettings({}), defaults: look },
  builtinTemplate: {
    rank: 2,
    template: { template_id: 'df8f4ea9-33b7-3e96-86a2-c39bc9bb649c', name: 'NAT', ...look },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create(given) {
    checkSame(given, PORTS);
    return { ports_mapping: PORTS.map((port) => ({ ...port })) };
  },
  update(current, given) {
    checkSame(given, storedList(current));
    return current;
  },
  ports: mappedCloudPorts,
};
