/** What captures record of a port: which frames are packets, and the link type that they are written with. */
import type { DeviceKind } from '../engine/devices/device-kinds.js';
import type { TapPlan } from '../engine/taps/tap-plan.js';
import { LINK_TYPE, type LinkType } from '../engine/wire/pcap.js';
import { LINK_TYPES } from '../run/switches/link-types.js';
import type { DataLinkType } from './capture-settings.js';

export interface PacketDesign {
  readonly linkType: LinkType;
  readonly packets: TapPlan['packets'];
}

const SERIAL_TYPES: Readonly<Partial<Record<DataLinkType, LinkType>>> = {
  DLT_C_HDLC: LINK_TYPE.C_HDLC,
  DLT_FRELAY: LINK_TYPE.FRELAY,
  DLT_PPP_SERIAL: LINK_TYPE.PPP_SERIAL,
};

/**
 * Stock clients always ask for Ethernet, so that is ignored. ATM is recorded as AAL5 frames unless cells are asked for.
 * The other serial types are the client's choice, because the routers at the ends decide what is spoken.
 */
export function packetDesign(
  kind: DeviceKind,
  wanted: DataLinkType | undefined,
  cells: boolean,
): PacketDesign {
  if (kind === 'atm_switch' && cells) return { linkType: LINK_TYPE.ERF, packets: 'cells' };
  if (kind === 'atm_switch') return { linkType: LINK_TYPES.atm_switch, packets: 'aal5' };
  const chosen = wanted === undefined ? undefined : SERIAL_TYPES[wanted];
  return { linkType: chosen ?? LINK_TYPES[kind], packets: 'frames' };
}
