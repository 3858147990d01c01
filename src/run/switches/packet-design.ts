/** What the frames of a port are to those who look at them: as captures record them, and as expressions see them. */
import type { DataLinkType } from '../../captures/capture-settings.js';
import type { DeviceKind } from '../../engine/forwarding/orders.js';
import type { TapPlan } from '../../engine/taps/tap-plan.js';
import { LINK_TYPE, type LinkType } from '../../engine/wire/pcap.js';

export interface PacketDesign {
  readonly linkType: LinkType;
  readonly packets: TapPlan['packets'];
}

const SERIAL_TYPES: Readonly<Partial<Record<DataLinkType, LinkType>>> = {
  DLT_C_HDLC: LINK_TYPE.C_HDLC,
  DLT_FRELAY: LINK_TYPE.FRELAY,
  DLT_PPP_SERIAL: LINK_TYPE.PPP_SERIAL,
};

const OWN_TYPES: Readonly<Record<DeviceKind, LinkType>> = {
  atm_switch: LINK_TYPE.SUNATM,
  ethernet_hub: LINK_TYPE.EN10MB,
  ethernet_switch: LINK_TYPE.EN10MB,
  frame_relay_switch: LINK_TYPE.FRELAY,
};

/**
 * Clients name Ethernet for want of knowing better, and ATM means frames that were put together again. The other
 * serial types are theirs to choose, because the routers at the ends decide what is spoken.
 */
export function packetDesign(
  kind: DeviceKind,
  wanted: DataLinkType | undefined,
  cells: boolean,
): PacketDesign {
  if (kind === 'atm_switch') {
    return cells
      ? { linkType: LINK_TYPE.ERF, packets: 'cells' }
      : { linkType: LINK_TYPE.SUNATM, packets: 'aal5' };
  }
  const chosen = wanted === undefined ? undefined : SERIAL_TYPES[wanted];
  return { linkType: chosen ?? OWN_TYPES[kind], packets: 'frames' };
}

/** How expressions of packet filters see the frames of a link. */
export function filterLinkType(kind: DeviceKind): LinkType {
  return OWN_TYPES[kind];
}
