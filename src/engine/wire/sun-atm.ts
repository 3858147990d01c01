/**
 * What stands before an AAL5 frame in captures of link type SUNATM: direction and kind of traffic, the VPI as far
 * as eight bits hold it, the VCI. What follows is the frame without padding and trailer.
 */
export const SUN_ATM_LENGTH = 4;
const FIELD = { traffic: 0, vpi: 1, vci: 2 } as const;
const OUT = 0x80;
/** Kinds of traffic. A reader looks into one that is not told. */
const TRAFFIC = { untold: 0, llc: 2, ilmi: 5, signalling: 6 } as const;

/** Where LLC begins: the service access points of SNAP, of routed OSI protocols and of bridges, unnumbered. */
const LLC_STARTS: readonly number[] = [0xaaaa03, 0xfefe03, 0x424203];
/** Channels of path 0 that are always used for the same. */
const SIGNALLING_VCI = 5;
const ILMI_VCI = 16;

/** The frame lies behind. */
export function writeSunAtmHeader(
  view: DataView,
  offset: number,
  isOut: boolean,
  vpi: number,
  vci: number,
): void {
  const traffic = trafficOf(vpi, vci, view.getUint32(offset + SUN_ATM_LENGTH) >>> 8);
  view.setUint8(offset + FIELD.traffic, (isOut ? OUT : 0) | traffic);
  view.setUint8(offset + FIELD.vpi, vpi);
  view.setUint16(offset + FIELD.vci, vci);
}

function trafficOf(vpi: number, vci: number, start: number): number {
  if (vpi === 0 && vci === SIGNALLING_VCI) return TRAFFIC.signalling;
  if (vpi === 0 && vci === ILMI_VCI) return TRAFFIC.ilmi;
  return LLC_STARTS.includes(start) ? TRAFFIC.llc : TRAFFIC.untold;
}
