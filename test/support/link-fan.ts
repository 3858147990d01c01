/**
 * Two Ethernet switches joined by many links, each of a VLAN of its own: what a socket sends into the first one leaves
 * by the link that its tag names, and arrives at a socket behind the second.
 */
import { end, LinkLab, type Json, type LabHost } from './link-lab.js';
import { ethernetFrame, ipPacket } from './numbered-packets.js';
import type { Teardown } from './scratch.js';
import { portions, type UdpPeer } from './udp-peer.js';

const FIRST_VLAN = 2;

export interface Numbered {
  readonly flow: number;
  readonly number: number;
  /** The length of the IP packet. */
  readonly length?: number;
}

export class LinkFan {
  readonly lab: LinkLab;
  readonly near: Json;
  readonly far: Json;
  readonly links: readonly Json[];
  /** The numbers of the packets that were sent, by the link that they took. */
  readonly sent: number[];
  readonly #source: { peer: UdpPeer; near: number };
  readonly #sink: { peer: UdpPeer; near: number };
  #passed = 0;

  private constructor(
    lab: LinkLab,
    [near, far]: readonly [Json, Json],
    links: readonly Json[],
    [source, sink]: readonly [{ peer: UdpPeer; near: number }, { peer: UdpPeer; near: number }],
  ) {
    this.lab = lab;
    this.near = near;
    this.far = far;
    this.links = links;
    this.sent = links.map(() => 0);
    this.#source = source;
    this.#sink = sink;
  }

  static async make(t: Teardown, host: LabHost, count: number): Promise<LinkFan> {
    const lab = await LinkLab.make(host);
    const ports_mapping = Array.from({ length: count + 1 }, (_, port_number) => ({
      name: `Ethernet${port_number}`,
      port_number,
      ...(port_number < count
        ? { type: 'access', vlan: FIRST_VLAN + port_number }
        : { type: 'dot1q', vlan: 1 }),
    }));
    const near = await lab.node('ethernet_switch', 'Near', { ports_mapping });
    const far = await lab.node('ethernet_switch', 'Far', { ports_mapping });
    const create = Array.from({ length: count }, (_, port) => ({ nodes: [end(near, port), end(far, port)] }));
    const { results } = await host.client.expect(200, 'POST', `${lab.links}/batch`, { create });
    const links = (results as { link: Json }[]).map(({ link }) => link);
    const sockets = [await lab.peer(t, near, count), await lab.peer(t, far, count)] as const;
    return new LinkFan(lab, [near, far], links, sockets);
  }

  /** The path of a link. */
  at(flow: number): string {
    const link = this.links[flow];
    if (link === undefined) throw new RangeError(`there is no link ${flow}`);
    return this.lab.at(link);
  }

  get ids(): string[] {
    return this.links.map(({ link_id: id }) => String(id));
  }

  /** Sends packets, and waits until all have arrived behind the second switch. */
  async pass(packets: readonly Numbered[]): Promise<void> {
    const frames = packets.map(({ flow, number, length }) => {
      return ethernetFrame(ipPacket(flow, number, length), FIRST_VLAN + flow);
    });
    for (const portion of portions(frames)) {
      await this.#source.peer.send(this.#source.near, portion);
      await this.#sink.peer.receive((this.#passed += portion.length));
    }
    for (const { flow } of packets) this.sent[flow] = (this.sent[flow] ?? 0) + 1;
  }

  /** The next so many packets of every link, by turns. */
  async passAll(rounds: number, length?: number): Promise<void> {
    const packets = Array.from({ length: rounds }, (_, round) =>
      this.sent.map((sent, flow) => ({
        flow,
        number: sent + round,
        ...(length === undefined ? {} : { length }),
      })),
    );
    await this.pass(packets.flat());
  }
}
