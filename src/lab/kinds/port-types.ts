/** The types of ports that programs have: how they are called, what speaks there, and what captures record. */
import { LINK_TYPE, type PcapLinkType } from '../../engine/wire/pcap.js';
import type { LinkMedium, NodePort } from './port.js';

export interface PortType {
  /** The beginning of long names: `FastEthernet0/0`. */
  readonly long: string;
  /** The same in short names: `f0/0`. */
  readonly short: string;
  readonly medium: LinkMedium;
  readonly dataLinkTypes: Readonly<Record<string, string>>;
}

const ethernet = { medium: 'ethernet', dataLinkTypes: { Ethernet: 'DLT_EN10MB' } } as const;

export const ETHERNET: PortType = { ...ethernet, long: 'Ethernet', short: 'e' };
export const FAST_ETHERNET: PortType = { ...ethernet, long: 'FastEthernet', short: 'f' };
export const GIGABIT_ETHERNET: PortType = { ...ethernet, long: 'GigabitEthernet', short: 'g' };
export const SERIAL: PortType = {
  long: 'Serial',
  short: 's',
  medium: 'serial',
  dataLinkTypes: {
    'Cisco HDLC': 'DLT_C_HDLC',
    'Cisco PPP': 'DLT_PPP_SERIAL',
    'Frame Relay': 'DLT_FRELAY',
  },
};
export const ATM: PortType = {
  long: 'ATM',
  short: 'a',
  medium: 'serial',
  dataLinkTypes: { ATM: 'DLT_ATM_RFC1483' },
};
export const POS: PortType = { long: 'POS', short: 'p', medium: 'serial', dataLinkTypes: {} };

interface PortPlace {
  readonly adapter: number;
  readonly port: number;
  readonly name: string;
  readonly shortName: string;
}

export function portOfType(type: PortType, { adapter, port, name, shortName }: PortPlace): NodePort {
  return {
    adapter_number: adapter,
    data_link_types: { ...type.dataLinkTypes },
    link_type: type.medium,
    name,
    port_number: port,
    short_name: shortName,
  };
}

const LINK_TYPES: ReadonlyMap<string, PcapLinkType> = new Map([
  ['DLT_EN10MB', LINK_TYPE.EN10MB],
  ['DLT_C_HDLC', LINK_TYPE.C_HDLC],
  ['DLT_PPP_SERIAL', LINK_TYPE.PPP_SERIAL],
  ['DLT_FRELAY', LINK_TYPE.FRELAY],
  ['DLT_ATM_RFC1483', LINK_TYPE.SUNATM],
]);

/** The link types in which a capture at a port may record, the default first. Packet over SONET carries HDLC or PPP. */
export function captureLinkTypes({ data_link_types: named, link_type: medium }: NodePort): PcapLinkType[] {
  const known = [...LINK_TYPES].filter(([name]) => Object.values(named).includes(name));
  if (known.length > 0) return known.map(([, linkType]) => linkType);
  return medium === 'ethernet' ? [LINK_TYPE.EN10MB] : [LINK_TYPE.C_HDLC, LINK_TYPE.PPP_SERIAL];
}

/** The form in which captures record the frames of a port by default. Filters are compiled for its link type. */
export function captureOf(port: NodePort): { linkType: PcapLinkType; packets: 'frames' | 'aal5' } {
  const [linkType = LINK_TYPE.EN10MB] = captureLinkTypes(port);
  return { linkType, packets: linkType === LINK_TYPE.SUNATM ? 'aal5' : 'frames' };
}

/** The form in which captures record the frames of Ethernet ports. */
export const ETHERNET_CAPTURE = { linkType: LINK_TYPE.EN10MB, packets: 'frames' } as const;
