/**
 * The work that a guest leaves to others before a frame may travel on a wire: a checksum to be computed, and TCP segments
 * to be cut out of a frame that is longer than any wire takes.
 */
import { ethertypeOf, isTagEthertype, SMALLEST_FRAME, TAG_LENGTH } from './ethernet.js';
import { checksumOf, sumOf } from './internet-checksum.js';

/** Offsets are those in the frame. */
export interface Offload {
  /** The checksum covers everything from here on. */
  readonly covered: number;
  readonly checksum: number;
  /** The most octets of TCP that a segment carries; 0 when the frame stays whole. */
  readonly segment: number;
  /** The length of all headers of a frame that is cut, and where its IP header begins. */
  readonly headers: number;
  readonly network: number;
  readonly isIpv6: boolean;
}

/** The wish of a guest as it stands in the header before a frame. Nothing of it is checked. */
export interface OffloadRequest {
  readonly needsChecksum: boolean;
  readonly cuts: 'nothing' | 'tcp4' | 'tcp6' | 'unknown';
  readonly segment: number;
  readonly covered: number;
  /** The offset of the checksum in what is covered. */
  readonly checksum: number;
}

/** One frame makes no more: tiny segments would keep everybody waiting. */
const MOST_PIECES = 1024;
const MOST_TAGS = 2;
const CHECKSUM_LENGTH = 2;
const ETHERTYPE = { tcp4: 0x0800, tcp6: 0x86dd } as const;
const TCP = 6;
/** Offsets in headers. */
const IPV4 = { shortest: 20, length: 2, number: 4, fragment: 6, protocol: 9, checksum: 10, addresses: 12 };
const IPV6 = { shortest: 40, length: 4, addresses: 8 };
const TCP_AT = { shortest: 20, number: 4, size: 12, flags: 13, checksum: 16 };
const FRAGMENT_BITS = 0x3fff;
/** Only the last segment ends a stream or hurries, and only the first tells that less is sent. */
const [NOT_LAST, NOT_FIRST] = [0xff & ~0x09, 0xff & ~0x80];

/** Checks a wish against the frame; undefined when the two do not fit together. */
export function offloadOf(
  bytes: Uint8Array,
  frame: number,
  length: number,
  request: OffloadRequest,
): Offload | undefined {
  const { covered } = request;
  const checksum = covered + request.checksum;
  if (!request.needsChecksum || covered < SMALLEST_FRAME || checksum + CHECKSUM_LENGTH > length)
    return undefined;
  if (request.cuts === 'nothing')
    return { covered, checksum, segment: 0, headers: 0, network: 0, isIpv6: false };
  if (request.cuts === 'unknown' || request.segment === 0 || request.checksum !== TCP_AT.checksum)
    return undefined;
  const network = networkAt(bytes, frame, ETHERTYPE[request.cuts]);
  if (network === undefined || covered + TCP_AT.shortest > length) return undefined;
  const isIpv6 = request.cuts === 'tcp6';
  const fits = isIpv6
    ? covered >= network + IPV6.shortest
    : isIpv4At(bytes, frame + network, covered - network);
  const size = ((bytes[frame + covered + TCP_AT.size] ?? 0) >>> 4) * 4;
  const headers = covered + size;
  if (!fits || size < TCP_AT.shortest || headers > length) return undefined;
  const offload = { covered, checksum, segment: request.segment, headers, network, isIpv6 };
  return piecesOf(offload, length) > MOST_PIECES ? undefined : offload;
}

/** The offload of the same frame when tags were put before it, or taken away. */
export function shiftedOffload(offload: Offload, by: number): Offload {
  const { covered, checksum, headers, network } = offload;
  return {
    ...offload,
    ...{ covered: covered + by, checksum: checksum + by, headers: headers + by, network: network + by },
  };
}

/** The number of frames that become of one. */
export function piecesOf({ segment, headers }: Offload, length: number): number {
  return segment === 0 ? 1 : Math.max(1, Math.ceil((length - headers) / segment));
}

/** Computes the checksum of a whole frame, whose place holds the sum of what is not covered. */
export function completeChecksum(view: DataView, frame: number, length: number, offload: Offload): void {
  const sum = checksumOf(sumOf(view, frame + offload.covered, frame + length));
  // UDP has no checksum when there is 0, and for the sum both are the same.
  view.setUint16(frame + offload.checksum, sum === 0 ? 0xffff : sum);
}

/** Makes a frame of the copies of all headers and of one segment. */
export function completePiece(
  view: DataView,
  frame: number,
  length: number,
  { covered, segment, network: networkOffset, isIpv6 }: Offload,
  piece: number,
  isLast: boolean,
): void {
  const [network, tcp, end] = [frame + networkOffset, frame + covered, frame + length];
  let sum = TCP + (end - tcp);
  if (isIpv6) {
    view.setUint16(network + IPV6.length, end - network - IPV6.shortest);
    sum = sumOf(view, network + IPV6.addresses, network + IPV6.shortest, sum);
  } else {
    view.setUint16(network + IPV4.length, end - network);
    view.setUint16(network + IPV4.number, view.getUint16(network + IPV4.number) + piece);
    view.setUint16(network + IPV4.checksum, 0);
    view.setUint16(network + IPV4.checksum, checksumOf(sumOf(view, network, tcp)));
    sum = sumOf(view, network + IPV4.addresses, network + IPV4.shortest, sum);
  }
  view.setUint32(tcp + TCP_AT.number, view.getUint32(tcp + TCP_AT.number) + piece * segment);
  const flags = view.getUint8(tcp + TCP_AT.flags);
  view.setUint8(tcp + TCP_AT.flags, flags & (isLast ? 0xff : NOT_LAST) & (piece === 0 ? 0xff : NOT_FIRST));
  view.setUint16(tcp + TCP_AT.checksum, 0);
  view.setUint16(tcp + TCP_AT.checksum, checksumOf(sumOf(view, tcp, end, sum)));
}

/** Where the IP header begins; undefined when the frame carries something else. */
function networkAt(bytes: Uint8Array, frame: number, ethertype: number): number | undefined {
  let at = 0;
  while (at < MOST_TAGS * TAG_LENGTH && isTagEthertype(ethertypeOf(bytes, frame + at))) at += TAG_LENGTH;
  return ethertypeOf(bytes, frame + at) === ethertype ? at + SMALLEST_FRAME : undefined;
}

/** Whether a header of this length carries TCP, whole. */
function isIpv4At(bytes: Uint8Array, at: number, length: number): boolean {
  const fragment = ((bytes[at + IPV4.fragment] ?? 0) << 8) | (bytes[at + IPV4.fragment + 1] ?? 0);
  const isWhole = (fragment & FRAGMENT_BITS) === 0;
  return (
    length >= IPV4.shortest &&
    bytes[at] === (0x40 | (length >>> 2)) &&
    length % 4 === 0 &&
    isWhole &&
    bytes[at + IPV4.protocol] === TCP
  );
}
