/**
 * The header of an AAL5 frame in captures of link type SUNATM: direction and kind of traffic, the low eight bits of the
 * VPI, the VCI. The frame follows, without padding and trailer.
 */
export const SUN_ATM_LENGTH = 4;
const FIELD = { traffic: 0, vpi: 1, vci: 2 } as const;
const OUT = 0x80;
/** Kinds of traffic. Readers guess the kind of traffic that is marked as unknown. */
const TRAFFIC = { unknown: 0, llc: 2, ilmi: 5, signalling: 6 } as const;

/** The first octets of LLC: the service access points of SNAP, of routed OSI protocols and of bridges, unnumbered. */
const LLC_STARTS: readonly number[] = [0xaaaa03, 0xfefe03, 0x424203];
/** Channels of path 0 with a fixed purpose. */
const SIGNALLING_VCI = 5;
const ILMI_VCI = 16;

/** Writes the header; the frame has to lie behind it already. */
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
  return LLC_STARTS.includes(start) ? TRAFFIC.llc : TRAFFIC.unknown;
}
