/** Opens UDP, TAP, packet and Unix sockets as descriptors, with buffers that hold a burst. */
import { randomFillSync } from 'node:crypto';
import { lstatSync, unlinkSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';
import { GUEST_WORD, GuestRecord } from '../../../base/memory/guest-record.js';
import type { GuestEndpoint, PortEndpoint, OpenEndpoint } from '../../forwarding/transport.js';
import { OpenError, RECEIVE_BUFFER, type Attachable, type Opener } from '../opener.js';
import {
  AF_INET,
  AF_INET6,
  AF_PACKET,
  AF_UNIX,
  PACKET_ADD_MEMBERSHIP,
  PACKET_AUXDATA,
  PACKET_IGNORE_OUTGOING,
  PACKET_MR_PROMISC,
  SO_MEMINFO,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SO_SNDBUF,
  SO_SNDBUFFORCE,
  SOCK_DGRAM,
  SOCK_FLAGS,
  SOCK_RAW,
  SOCK_STREAM,
  SOL_PACKET,
  SOL_SOCKET,
  SOL_UDP,
  UDP_GRO,
} from './constants.js';
import { libc } from './libc.js';
import { internetAddress, packetAddress, unixAddress } from './socket-address.js';
import { openUncut, routeMtu } from './uncut-socket.js';
import { closeHeld } from './vhost/held-resources.js';
import { reasonOf } from './vhost/guest-fault.js';

const SEND_BUFFER = 1024 * 1024;
const ALL_PROTOCOLS = 3;
/** SO_MEMINFO is nine numbers; the last one counts the frames that did not fit into the receive buffer. */
const MEMINFO = { length: 36, drops: 32 } as const;
const TUN_DEVICE = '/dev/net/tun';
const O_RDWR_NONBLOCK_CLOEXEC = 2 | 0o4000 | 0o2000000;
const TUNSETIFF = 0x4004_54ca;
const TUNSETCARRIER = 0x4004_54e2;
const TAP_WITHOUT_HEADER = 0x0002 | 0x1000;
const SIOCGIFFLAGS = 0x8913;
const SIOCSIFFLAGS = 0x8914;
const SIOCSIFHWADDR = 0x8924;
const SIOCBRADDIF = 0x89a2;
const IFF_UP = 1;
const ARPHRD_ETHER = 1;
const INTERFACE_NAME_LENGTH = 16;
const INTERFACE_REQUEST_LENGTH = 40;
/** A bridge takes the lowest address of its ports for its own. No network card has one that begins like this. */
const HIGH_ADDRESS = 0xfe;

/** The file that a Unix socket is bound to. */
interface SocketFile {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

export class LinuxOpener implements Opener {
  readonly openUncut = openUncut;
  readonly routeMtu = routeMtu;
  readonly #unixFiles = new Map<number, SocketFile>();
  readonly #ceiling: number;

  /** Descriptors stay below the ceiling. */
  constructor(ceiling = Infinity) {
    this.#ceiling = ceiling;
  }

  open(wanted: Attachable): PortEndpoint {
    const endpoint = this.#open(wanted);
    // The kernel gives out the lowest free descriptor, so all below are in use.
    if (!('descriptor' in endpoint) || endpoint.descriptor < this.#ceiling) return endpoint;
    this.close(endpoint);
    throw new OpenError('too many open files (EMFILE): raise the limit of the server (ulimit -n)');
  }

  #open(wanted: Attachable): PortEndpoint {
    switch (wanted.type) {
      case 'udp':
        return openUdp(wanted);
      case 'tap':
        return openTap(wanted.device);
      case 'bridge':
        return openBridgePort(wanted.device, wanted.tap);
      case 'packet':
        return openPacket(wanted.device);
      case 'unix': {
        const { endpoint, file } = openUnix(wanted);
        this.#unixFiles.set(endpoint.descriptor, file);
        return endpoint;
      }
      case 'vhost-user': {
        const { endpoint, file } = openGuest(wanted);
        this.#unixFiles.set(endpoint.descriptor, file);
        return endpoint;
      }
      case 'null':
        return wanted;
    }
  }

  close(endpoint: PortEndpoint): void {
    if (!('descriptor' in endpoint)) return;
    if (endpoint.type === 'vhost-user') endGuest(endpoint);
    libc.close(endpoint.descriptor);
    const file = this.#unixFiles.get(endpoint.descriptor);
    if (file === undefined) return;
    this.#unixFiles.delete(endpoint.descriptor);
    removeSocketFile(file);
  }

  setCarrier(tap: PortEndpoint, isThere: boolean): void {
    if (tap.type !== 'tap') throw new OpenError('only a TAP has a carrier');
    check(libc.ioctl(tap.descriptor, TUNSETCARRIER, int(isThere ? 1 : 0)));
  }

  async guestFault(endpoint: PortEndpoint): Promise<string | undefined> {
    if (endpoint.type !== 'vhost-user') return undefined;
    const { words } = new GuestRecord(endpoint.record);
    await Atomics.waitAsync(words, GUEST_WORD.fault, 0).value;
    const fault = Atomics.load(words, GUEST_WORD.fault);
    return fault === 0 ? undefined : reasonOf(fault);
  }

  isFree(port: number): Promise<boolean> {
    const descriptor = libc.socket(AF_INET, SOCK_DGRAM | SOCK_FLAGS, 0);
    const address = internetAddress('0.0.0.0', port);
    const isFree = libc.bind(descriptor, address, address.length) === 0;
    libc.close(descriptor);
    return Promise.resolve(isFree);
  }

  grantedBuffer(): Promise<number> {
    const descriptor = libc.socket(AF_INET, SOCK_DGRAM | SOCK_FLAGS, 0);
    setBuffers(descriptor);
    const granted = Buffer.alloc(4);
    libc.getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, granted, Uint32Array.of(granted.length));
    libc.close(descriptor);
    // The kernel doubles the size that is asked for, and reports the double.
    return Promise.resolve(granted.readInt32LE() / 2);
  }

  lost(endpoint: PortEndpoint): number {
    if (!('descriptor' in endpoint) || endpoint.type === 'tap' || endpoint.type === 'vhost-user') return 0;
    const numbers = Buffer.alloc(MEMINFO.length);
    const length = Uint32Array.of(MEMINFO.length);
    if (libc.getsockopt(endpoint.descriptor, SOL_SOCKET, SO_MEMINFO, numbers, length) !== 0) return 0;
    return numbers.readUInt32LE(MEMINFO.drops);
  }
}

function openUdp(wanted: Extract<Attachable, { type: 'udp' }>): OpenEndpoint {
  const { localHost, localPort, remoteHost, remotePort } = wanted;
  const local = internetAddress(localHost, localPort);
  const remote = internetAddress(remoteHost, remotePort);
  const family = remote.length === 16 ? AF_INET : AF_INET6;
  return opened(libc.socket(family, SOCK_DGRAM | SOCK_FLAGS, 0), (descriptor) => {
    setBuffers(descriptor);
    setOption(descriptor, SOL_UDP, UDP_GRO, int(1));
    check(libc.bind(descriptor, local, local.length));
    check(libc.connect(descriptor, remote, remote.length));
    return {
      type: 'udp',
      descriptor,
      local: `${localHost}:${localPort}`,
      remote: `${remoteHost}:${remotePort}`,
    };
  });
}

function openTap(device: string): OpenEndpoint {
  return opened(libc.open(TUN_DEVICE, O_RDWR_NONBLOCK_CLOEXEC), (descriptor) => {
    becomeTap(descriptor, device);
    return { type: 'tap', descriptor };
  });
}

/** The kernel removes the TAP, and takes it out of the bridge, when its descriptor is closed. */
function openBridgePort(bridge: string, name: string): OpenEndpoint {
  return opened(libc.open(TUN_DEVICE, O_RDWR_NONBLOCK_CLOEXEC), (descriptor) => {
    const tap = becomeTap(descriptor, name);
    const socket = libc.socket(AF_INET, SOCK_DGRAM | SOCK_FLAGS, 0);
    check(socket);
    try {
      const address = interfaceRequest(tap);
      address.writeUInt16LE(ARPHRD_ETHER, INTERFACE_NAME_LENGTH);
      address[INTERFACE_NAME_LENGTH + 2] = HIGH_ADDRESS;
      randomFillSync(address, INTERFACE_NAME_LENGTH + 3, 5);
      check(libc.ioctl(socket, SIOCSIFHWADDR, address));
      const port = interfaceRequest(bridge);
      port.writeInt32LE(libc.ifNameToIndex(tap), INTERFACE_NAME_LENGTH);
      check(libc.ioctl(socket, SIOCBRADDIF, port));
      const flags = interfaceRequest(tap);
      check(libc.ioctl(socket, SIOCGIFFLAGS, flags));
      flags.writeUInt16LE(flags.readUInt16LE(INTERFACE_NAME_LENGTH) | IFF_UP, INTERFACE_NAME_LENGTH);
      check(libc.ioctl(socket, SIOCSIFFLAGS, flags));
    } finally {
      libc.close(socket);
    }
    return { type: 'tap', descriptor };
  });
}

/** Makes a TAP, or takes one that is there. Returns its name. */
function becomeTap(descriptor: number, name: string): string {
  const request = interfaceRequest(name);
  request.writeUInt16LE(TAP_WITHOUT_HEADER, INTERFACE_NAME_LENGTH);
  check(libc.ioctl(descriptor, TUNSETIFF, request));
  return request.toString('utf8', 0, request.indexOf(0));
}

/** The argument of calls about an interface: its name, and a value behind it. */
function interfaceRequest(name: string): Buffer {
  if (Buffer.byteLength(name) >= INTERFACE_NAME_LENGTH) {
    throw new OpenError(`${name} is too long for the name of an interface`);
  }
  const request = Buffer.alloc(INTERFACE_REQUEST_LENGTH);
  request.write(name, 0);
  return request;
}

function openPacket(device: string): OpenEndpoint {
  const index = libc.ifNameToIndex(device);
  if (index === 0) throw new OpenError(`there is no interface ${device}`);
  // Protocol 0 receives nothing until `bind`; otherwise the socket would hear all interfaces for a moment.
  return opened(libc.socket(AF_PACKET, SOCK_RAW | SOCK_FLAGS, 0), (descriptor) => {
    setBuffers(descriptor);
    setOption(descriptor, SOL_PACKET, PACKET_AUXDATA, int(1));
    setOption(descriptor, SOL_PACKET, PACKET_IGNORE_OUTGOING, int(1));
    const membership = Buffer.alloc(16);
    membership.writeInt32LE(index, 0);
    membership.writeUInt16LE(PACKET_MR_PROMISC, 4);
    setOption(descriptor, SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership);
    const address = packetAddress(index, ALL_PROTOCOLS);
    check(libc.bind(descriptor, address, address.length));
    return { type: 'packet', descriptor };
  });
}

function openUnix({ localFile, remoteFile, isLoose }: Extract<Attachable, { type: 'unix' }>): {
  endpoint: OpenEndpoint;
  file: SocketFile;
} {
  const local = unixAddress(localFile);
  const remote = unixAddress(remoteFile);
  if (local === undefined || remote === undefined)
    throw new OpenError('the path of a Unix socket is too long');
  return opened(libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_FLAGS, 0), (descriptor) => {
    setBuffers(descriptor);
    check(libc.bind(descriptor, local, local.length));
    const file = socketFile(localFile);
    if (isLoose === true) return { endpoint: { type: 'unix', descriptor, peer: remoteFile }, file };
    if (libc.connect(descriptor, remote, remote.length) !== 0) {
      const { code, reason } = lastError();
      removeSocketFile(file);
      throw new OpenError(`${remoteFile}: ${reason}`, code);
    }
    return { endpoint: { type: 'unix', descriptor }, file };
  });
}

function openGuest({ path, mostMemory }: Extract<Attachable, { type: 'vhost-user' }>): {
  endpoint: GuestEndpoint;
  file: SocketFile;
} {
  const address = unixAddress(path);
  if (address === undefined) throw new OpenError('the path of a Unix socket is too long');
  return opened(libc.socket(AF_UNIX, SOCK_STREAM | SOCK_FLAGS, 0), (descriptor) => {
    check(libc.bind(descriptor, address, address.length));
    const file = socketFile(path);
    check(libc.listen(descriptor, 1));
    return {
      endpoint: { type: 'vhost-user', descriptor, record: new GuestRecord().buffer, mostMemory },
      file,
    };
  });
}

/** The engine has let go of the guest, or died: then it left what it had open. */
function endGuest({ record: buffer }: GuestEndpoint): void {
  const record = new GuestRecord(buffer);
  closeHeld(record);
  Atomics.notify(record.words, GUEST_WORD.fault);
}

/** Calls `use` with a new descriptor, and closes the descriptor when that fails. */
function opened<Opened>(descriptor: number, use: (descriptor: number) => Opened): Opened {
  check(descriptor);
  try {
    return use(descriptor);
  } catch (error) {
    libc.close(descriptor);
    throw error;
  }
}

function setBuffers(descriptor: number): void {
  for (const [force, usual, length] of [
    [SO_RCVBUFFORCE, SO_RCVBUF, RECEIVE_BUFFER],
    [SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER],
  ] as const) {
    // The first option needs a privilege; the second is capped at what the host allows.
    const value = int(length);
    if (libc.setsockopt(descriptor, SOL_SOCKET, force, value, value.length) !== 0) {
      setOption(descriptor, SOL_SOCKET, usual, value);
    }
  }
}

/** Ignores errors: options only make things faster, and an older kernel may lack one. */
function setOption(descriptor: number, level: number, name: number, value: Uint8Array): void {
  libc.setsockopt(descriptor, level, name, value, value.length);
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function check(result: number): void {
  if (result >= 0) return;
  const { code, reason } = lastError();
  throw new OpenError(reason, code);
}

function lastError(): { code: string; reason: string } {
  const [code = '', text = ''] = getSystemErrorMap().get(-koffi.errno()) ?? [];
  return { code, reason: `${text} (${code})` };
}

/** Identifies a socket file that has just been made. */
function socketFile(path: string): SocketFile {
  const { dev, ino } = lstatSync(path, { bigint: true });
  return { path, dev, ino };
}

/** Removes the file, unless it was removed or replaced by another meanwhile. */
function removeSocketFile({ path, dev, ino }: SocketFile): void {
  try {
    const found = lstatSync(path, { bigint: true });
    if (found.dev === dev && found.ino === ino) unlinkSync(path);
  } catch {
    // It has gone.
  }
}
