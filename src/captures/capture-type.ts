/** The form in which a capture records the frames of a port: the packets it makes of them, and their link type. */
import type { TapPlan } from '../engine/taps/tap-plan.js';
import { LINK_TYPE, type PcapLinkType } from '../engine/wire/pcap.js';
import type { NodeKind } from '../lab/kinds/node-kind.js';
import type { DataLinkType } from './capture-settings.js';

interface CaptureType {
  readonly linkType: PcapLinkType;
  readonly packets: TapPlan['packets'];
}

const SERIAL_TYPES: Readonly<Partial<Record<DataLinkType, PcapLinkType>>> = {
  DLT_C_HDLC: LINK_TYPE.C_HDLC,
  DLT_FRELAY: LINK_TYPE.FRELAY,
  DLT_PPP_SERIAL: LINK_TYPE.PPP_SERIAL,
};

/**
 * Stock clients always ask for Ethernet, so that is ignored. ATM is recorded as AAL5 frames unless cells are asked for.
 * The other serial types are the client's choice, because the routers at the ends decide what is spoken.
 */
export function captureType(
  { capture }: Pick<NodeKind, 'capture'>,
  wanted: DataLinkType | undefined,
  cells: boolean,
): CaptureType {
  if (capture.packets === 'aal5') return cells ? { linkType: LINK_TYPE.ERF, packets: 'cells' } : capture;
  const chosen = wanted === undefined ? undefined : SERIAL_TYPES[wanted];
  return { linkType: chosen ?? capture.linkType, packets: 'frames' };
}
