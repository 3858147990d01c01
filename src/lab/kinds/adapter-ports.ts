/** The ports of nodes that have a number of adapters and name them by a format. */
import { refusals } from '../../base/errors/errors.js';
import { byAdapter } from './custom-adapters.js';
import { countOf } from './fields.js';
import { addressAfter } from './mac-addresses.js';
import type { PortOwner } from './node-kind.js';
import { parsePortNameFormat, type NamedPlace } from './port-name-format.js';
import { ETHERNET, portOfType, type PortType } from './port-types.js';
import type { NodePort } from './port.js';

interface Adapters {
  readonly count: number;
  readonly portsEach: number;
  /** The type of those that have none of their own; undefined where it is not known. */
  readonly type?: string | undefined;
  /** The address of the first one; undefined where it is not known. */
  readonly firstAddress?: string | undefined;
  /** The format of names when that of the node is wrong. */
  readonly otherwise: string;
}

interface AdapterPorts {
  readonly ports: NodePort[];
  /** The segment of the port that would come next. */
  readonly nextSegment: number;
}

/** Refuses (409) a format of port names that is none. */
export function checkPortNames({ portNameFormat }: PortOwner): void {
  const format = parsePortNameFormat(portNameFormat);
  if (typeof format === 'string') throw refusals.portNameFormatRefused(portNameFormat, format);
}

/**
 * Ports in their order. `first_port_name` names the first adapter, which is then not counted; after as many ports as
 * a segment has, or after each one where segments have no size, a new segment begins.
 */
export function ethernetPorts(owner: PortOwner, adapters: Adapters): AdapterPorts {
  const { portSegmentSize, firstPortName, customAdapters } = owner;
  const nameOf = namer(owner.portNameFormat, adapters.otherwise);
  const customOf = byAdapter(customAdapters);
  const ports: NodePort[] = [];
  let number = 0;
  let segment = 0;
  for (let adapter = 0; adapter < adapters.count; adapter++) {
    const custom = customOf.get(adapter);
    const type = custom?.adapter_type ?? adapters.type;
    const address = custom?.mac_address ?? addressOf(adapters.firstAddress, adapter);
    for (let port = 0; port < adapters.portsEach; port++) {
      const isFirst = adapter === 0 && firstPortName !== null && firstPortName !== '';
      const byFormat = isFirst ? firstPortName : nameOf({ port: number, segment, adapter });
      const name = custom?.port_name ?? byFormat;
      const shortName = shortNameOf(ETHERNET, name, segment);
      ports.push({
        ...portOfType(ETHERNET, { adapter, port, name, shortName }),
        ...(type === undefined || type === '' ? {} : { adapter_type: type }),
        ...(address === undefined ? {} : { mac_address: address }),
      });
      if (isFirst) continue;
      number++;
      if (portSegmentSize <= 0) segment++;
      else if (number % portSegmentSize === 0) {
        segment++;
        number = 0;
      }
    }
  }
  return { ports, nextSegment: segment };
}

/** The ports of a virtual machine, whose properties say how many adapters it has; each has one port. */
export function machinePorts(
  owner: PortOwner,
  { most, firstAddress, otherwise }: Pick<Adapters, 'firstAddress' | 'otherwise'> & { readonly most: number },
): NodePort[] {
  const { adapters, adapter_type: type } = owner.properties;
  const count = countOf(adapters, 1, most);
  const known = typeof type === 'string' ? type : undefined;
  return ethernetPorts(owner, { count, portsEach: 1, type: known, firstAddress, otherwise }).ports;
}

/** The long type in the name gives way to the short one where a name has slots, or is just the type and the segment. */
function shortNameOf({ long, short }: PortType, name: string, segment: number): string {
  if (name.includes('/')) return name.replaceAll(long, short);
  return name === `${long}${segment}` ? `${short}${segment}` : name;
}

/** Files of other programs may hold any format. */
function namer(format: string, otherwise: string): (numbers: NamedPlace) => string {
  for (const text of [format, otherwise]) {
    const parsed = parsePortNameFormat(text);
    if (typeof parsed !== 'string') return (numbers) => parsed.nameOf(numbers);
  }
  throw new Error(`'${otherwise}' is no format of port names`);
}

function addressOf(first: string | undefined, adapter: number): string | undefined {
  return first === undefined ? undefined : addressAfter(first, adapter);
}
