/** Clouds: ports that lead to interfaces of the host, to TAPs and to UDP. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { cloudPortList, givenPorts, mappedCloudPorts, numberedPorts, type CloudPort } from './cloud-ports.js';
import { hostInterface, type CloudInterface } from './host-interface.js';
import { tcpPort, withoutKeys, withValue, word } from './fields.js';
import type { NodeKind } from './node-kind.js';
import { storedList } from './ports-mapping.js';
import { templateSettings } from './template.js';
import { ETHERNET_CAPTURE } from './port-types.js';

const MOST_INTERFACES = 4096;
const remoteConsoleType = z.enum(['telnet', 'vnc', 'spice', 'http', 'https', 'none']);
const path = z.string().max(4096);

const look = { category: 'guest', default_name_format: 'Cloud{0}', symbol: ':/symbols/cloud.svg' };

/** The ports of a cloud for which a client has named none: one for each interface that is not special. */
export function portsOfInterfaces(interfaces: readonly CloudInterface[]): CloudPort[] {
  const plain = interfaces.filter(({ special }) => !special);
  return plain.map(({ name, type }, index) => ({ interface: name, name, port_number: index, type }));
}

export const cloud: NodeKind & { readonly type: 'cloud' } = {
  type: 'cloud',
  title: 'a cloud',
  alwaysRuns: true,
  imageProperties: [],
  keepsContentElsewhere: false,
  cannotBeDuplicated: true,
  usesHostInterfaces: true,
  properties: z.strictObject({
    // The interfaces are those of the host: what a client sends back is accepted and not used.
    interfaces: z.array(z.unknown()).max(MOST_INTERFACES).optional(),
    ports_mapping: cloudPortList.optional(),
    remote_console_host: word.optional(),
    remote_console_http_path: path.optional(),
    remote_console_port: tcpPort.nullable().optional(),
    remote_console_type: remoteConsoleType.optional(),
  }),
  shownProperties: {
    interfaces: z.array(hostInterface),
    ports_mapping: z.array(z.record(z.string(), z.unknown())),
    remote_console_host: z.string(),
    remote_console_http_path: z.string(),
    remote_console_port: tcpPort,
    remote_console_type: remoteConsoleType,
  },
  consoleTypes: [],
  template: {
    settings: templateSettings({
      ports_mapping: cloudPortList.optional(),
      remote_console_host: word.min(1).optional(),
      remote_console_http_path: path.min(1).optional(),
      remote_console_port: tcpPort.optional(),
      remote_console_type: remoteConsoleType.optional(),
    }),
    defaults: {
      ...look,
      ports_mapping: [],
      remote_console_host: '127.0.0.1',
      remote_console_http_path: '/',
      remote_console_port: 23,
      remote_console_type: 'none',
    },
  },
  builtinTemplate: {
    rank: 1,
    template: { template_id: '39e257dc-8412-3174-b6b3-0ee3ed6a43e9', name: 'Cloud', ...look },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create(given, _nodeId, interfaces = []) {
    const list = givenPorts(given) ?? [];
    return {
      remote_console_host: '',
      remote_console_http_path: '/',
      remote_console_port: 23,
      remote_console_type: 'none',
      ...withoutKeys(withValue(given), ['interfaces']),
      interfaces,
      // A template without ports, such as the built-in one, leaves them to the host.
      ports_mapping: list.length > 0 ? numberedPorts(list) : portsOfInterfaces(interfaces),
    };
  },
  update(current, given, isConnected) {
    const settings = withoutKeys(withValue(given), ['interfaces', 'ports_mapping']);
    const list = givenPorts(given);
    if (list === undefined || isDeepStrictEqual(list, storedList(current)))
      return { ...current, ...settings };
    if (isConnected) throw refusals.cloudConnected();
    return { ...current, ...settings, ports_mapping: numberedPorts(list) };
  },
  ports: mappedCloudPorts,
};
