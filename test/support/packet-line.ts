/** Two switches of one medium with a link between them; numbered packets pass from a socket to a socket. */
import { eventually } from './eventually.js';
import { LinkLab, end, type Json, type LabHost } from './link-lab.js';
import {
  atmCells,
  ETHERNET_LENGTH,
  ethernetFrame,
  FRAME_RELAY_LENGTH,
  frameRelayFrame,
  ipPacket,
  SNAP_LENGTH,
} from './numbered-packets.js';
import type { Teardown } from './scratch.js';
import { portions, type UdpPeer } from './udp-peer.js';

export interface Medium {
  readonly kind: string;
  readonly near: Json;
  readonly far: Json;
  /** The length of the headers of packets on the link, without those that a capture puts before them. */
  readonly headerLength: number;
  frames(packet: Uint8Array): Buffer[];
}

/** The flow of what marks an end. */
export const MARK = 1;
/** The link is between ports 10, the sockets are at ports 1. */
const LINK_PORT = 10;
const SOCKET_PORT = 1;
const hub = {
  ports_mapping: Array.from({ length: 11 }, (_, port) => ({ name: `e${port}`, port_number: port })),
};

export const MEDIA = {
  ethernet: {
    kind: 'ethernet_hub',
    near: hub,
    far: hub,
    headerLength: ETHERNET_LENGTH,
    frames: (packet) => [ethernetFrame(packet)],
  },
  frameRelay: {
    kind: 'frame_relay_switch',
    near: { mappings: { '1:101': '10:202' } },
    far: { mappings: { '10:202': '1:303' } },
    headerLength: FRAME_RELAY_LENGTH,
    frames: (packet) => [frameRelayFrame(101, packet)],
  },
  atm: {
    kind: 'atm_switch',
    near: { mappings: { '1:0:100': '10:5:500' } },
    far: { mappings: { '10:5:500': '1:0:300' } },
    headerLength: SNAP_LENGTH,
    frames: (packet) => atmCells(0, 100, packet),
  },
} satisfies Record<string, Medium>;

export class PacketLine {
  readonly lab: LinkLab;
  readonly medium: Medium;
  readonly near: Json;
  readonly far: Json;
  readonly link: Json;
  /** The path of the link. */
  readonly at: string;
  /** Packets so far. */
  sent = 0;
  /** Frames or cells of them. */
  passed = 0;
  readonly #source: { peer: UdpPeer; near: number };
  readonly #sink: { peer: UdpPeer; near: number };

  private constructor(
    lab: LinkLab,
    medium: Medium,
    [near, far]: readonly [Json, Json],
    link: Json,
    [source, sink]: readonly [{ peer: UdpPeer; near: number }, { peer: UdpPeer; near: number }],
  ) {
    this.lab = lab;
    this.medium = medium;
    this.near = near;
    this.far = far;
    this.link = link;
    this.at = lab.at(link);
    this.#source = source;
    this.#sink = sink;
  }

  static async make(
    t: Teardown,
    host: LabHost,
    medium: Medium = MEDIA.ethernet,
    settings: Json = {},
  ): Promise<PacketLine> {
    const lab = await LinkLab.make(host, settings);
    const near = await lab.node(medium.kind, 'Near', medium.near);
    const far = await lab.node(medium.kind, 'Far', medium.far);
    const link = await lab.link([end(near, LINK_PORT), end(far, LINK_PORT)]);
    const sockets = [await lab.peer(t, near, SOCKET_PORT), await lab.peer(t, far, SOCKET_PORT)] as const;
    return new PacketLine(lab, medium, [near, far], link, sockets);
  }

  /** Sends the next so many packets, and waits until all have arrived. */
  async pass(count: number, length?: number): Promise<void> {
    for (const portion of portions(this.#next(count, length))) {
      await this.#source.peer.send(this.#source.near, portion);
      await this.#sink.peer.receive((this.passed += portion.length));
    }
  }

  /** Sends so many packets both ways, by turns and in portions, and does not look whether any arrive. */
  async spray(count: number, portion: number): Promise<void> {
    const ends = [this.#source, this.#sink];
    for (let left = count, turn = 0; left > 0; left -= portion, turn++) {
      const { peer, near } = ends[turn % ends.length] ?? this.#source;
      await peer.send(near, this.#next(Math.min(left, portion), undefined));
    }
  }

  /** Sends one packet of another flow, and waits until it arrives. */
  async mark(): Promise<void> {
    const frames = this.medium.frames(ipPacket(MARK, 0));
    await this.#source.peer.send(this.#source.near, frames);
    const last = frames.at(-1) ?? Buffer.alloc(0);
    await eventually('the mark arrives', () =>
      this.#sink.peer.received.at(-1)?.equals(last) === true ? true : undefined,
    );
  }

  #next(count: number, length: number | undefined): Buffer[] {
    const packets = Array.from({ length: count }, () => ipPacket(0, this.sent++, length));
    return packets.flatMap((packet) => this.medium.frames(packet));
  }
}
