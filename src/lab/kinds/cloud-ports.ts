/** The `ports_mapping` of clouds and NAT nodes: what is at the other end of each port. The position is the port's number. */
import { z } from 'zod';
import type { PortOwner, Properties } from './node-kind.js';
import { fieldOf, LARGEST_PORT_COUNT, storedList } from './ports-mapping.js';
import { ETHERNET, portOfType } from './port-types.js';
import { tcpPort, word } from './fields.js';
import type { NodePort } from './port.js';

const LONGEST_INTERFACE = 255;

const place = { name: word.min(1), port_number: z.int().min(0) };
const interfaceName = z.string().min(1).max(LONGEST_INTERFACE);

const cloudPort = z.discriminatedUnion('type', [
  z.strictObject({ ...place, type: z.literal('ethernet'), interface: interfaceName }),
  z.strictObject({ ...place, type: z.literal('tap'), interface: interfaceName }),
  z.strictObject({ ...place, type: z.literal('udp'), lport: tcpPort, rhost: word.min(1), rport: tcpPort }),
]);
export type CloudPort = z.infer<typeof cloudPort>;

export const cloudPortList = z.array(cloudPort).max(LARGEST_PORT_COUNT);

/** The numbers follow the positions; the names stay. */
export function numberedPorts(list: readonly CloudPort[]): CloudPort[] {
  return list.map((port, index) => ({ ...port, port_number: index }));
}

export function mappedCloudPorts({ properties }: Pick<PortOwner, 'properties'>): NodePort[] {
  return storedList(properties).map((entry, index) => {
    const stored = fieldOf(entry, 'name');
    const name = typeof stored === 'string' ? stored : String(index);
    return portOfType(ETHERNET, { adapter: 0, port: index, name, shortName: name });
  });
}

/** The list that a client has given; undefined when it has given none. */
export function givenPorts(given: Properties): readonly CloudPort[] | undefined {
  return cloudPortList.safeParse(given['ports_mapping']).data;
}
