/**
 * The frames that may pass from a lab to the program of a NAT node. The program connects for the guests, as a process of
 * the host, so an address that means the host to such a process must not get there: the router's own address (the
 * program takes it for the loopback of the host), `0.0.0.0`, `255.255.255.255` and `127.0.0.0/8`. All else that no
 * router forwards stays out as well: multicast, link-local addresses (clouds answer there with the secrets of the
 * host), and the network of the NAT node itself.
 *
 * The services of the network stay: DHCP and echo at the router, DNS at the name server.
 */
import { ADDRESS_LENGTH, ethertypeOf, SMALLEST_FRAME } from '../wire/ethernet.js';

/** Addresses are unsigned numbers of 32 bits. */
export interface NatNetwork {
  readonly network: number;
  readonly mask: number;
  readonly router: number;
  readonly nameServer: number;
}

const IPV4 = 0x0800;
const ARP = 0x0806;
const SMALLEST_HEADER = 20;
/** Offsets in an IPv4 header. */
const FRAGMENT = 6;
const PROTOCOL = 9;
const DESTINATION = 16;
/** The bit `more fragments`, and the offset of a fragment. */
const FRAGMENT_BITS = 0x3fff;
const ICMP = 1;
const TCP = 6;
const UDP = 17;
const DHCP = 67;
const DHCP_CLIENT = 68;
const DNS = 53;
/** The first byte of an IPv4 header without options. */
const PLAIN_HEADER = 0x45;
const UDP_HEADER = 8;
/** The offset of the hardware address of the client in a DHCP message. */
const CLIENT_ADDRESS = 28;
const BROADCAST = 0xffff_ffff;
const FIRST_MULTICAST = 0xe000_0000;
const LINK_LOCAL = 0xa9fe;

export function passesNat(
  bytes: Uint8Array,
  frame: number,
  length: number,
  { network, mask, router, nameServer }: NatNetwork,
): boolean {
  if (length < SMALLEST_FRAME) return false;
  const ethertype = ethertypeOf(bytes, frame);
  if (ethertype === ARP) return true;
  const header = frame + SMALLEST_FRAME;
  const end = frame + length;
  if (ethertype !== IPV4 || end < header + SMALLEST_HEADER) return false;
  const destination = word(bytes, header + DESTINATION);
  const protocol = bytes[header + PROTOCOL];
  if (destination === router && protocol === ICMP) return true;
  if (destination === router || destination === BROADCAST) {
    return protocol === UDP && portAt(bytes, header, end) === DHCP;
  }
  if (destination === nameServer) {
    return (protocol === UDP || protocol === TCP) && portAt(bytes, header, end) === DNS;
  }
  return (destination & mask) >>> 0 !== network && isForwarded(destination);
}

/**
 * Gives an answer of the program's DHCP to its client alone. The program sends answers to everybody, also when the client
 * has not asked for that, and VPCS before 0.8 takes no packet that is not sent to its own address.
 */
export function addressDhcpAnswer(bytes: Uint8Array, frame: number, length: number): void {
  const header = frame + SMALLEST_FRAME;
  const message = header + SMALLEST_HEADER + UDP_HEADER;
  if (frame + length < message + CLIENT_ADDRESS + ADDRESS_LENGTH || ethertypeOf(bytes, frame) !== IPV4)
    return;
  if (bytes[header] !== PLAIN_HEADER || bytes[header + PROTOCOL] !== UDP) return;
  if (word(bytes, header + DESTINATION) !== BROADCAST) return;
  const ports = header + SMALLEST_HEADER;
  if (pair(bytes, ports) !== DHCP || pair(bytes, ports + 2) !== DHCP_CLIENT) return;
  const client = message + CLIENT_ADDRESS;
  bytes.copyWithin(frame, client, client + ADDRESS_LENGTH);
}

/** Whether a router forwards packets to the address. */
function isForwarded(address: number): boolean {
  const first = address >>> 24;
  return first !== 0 && first !== 127 && address >>> 16 !== LINK_LOCAL && address < FIRST_MULTICAST;
}

/**
 * The destination port of a TCP segment or a UDP datagram. None (-1) for a fragment: the program puts fragments together
 * by rules of its own, and neither service needs any.
 */
function portAt(bytes: Uint8Array, header: number, end: number): number {
  const body = header + (((bytes[header] ?? 0) & 0x0f) << 2);
  if (body < header + SMALLEST_HEADER || end < body + 4) return -1;
  return (pair(bytes, header + FRAGMENT) & FRAGMENT_BITS) === 0 ? pair(bytes, body + 2) : -1;
}

function word(bytes: Uint8Array, at: number): number {
  return ((pair(bytes, at) << 16) | pair(bytes, at + 2)) >>> 0;
}

function pair(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
