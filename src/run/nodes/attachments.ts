/** The attached ports of one node. The engine lets go of a port before its socket is closed. */
import { isDeepStrictEqual } from 'node:util';
import type { RunningDevice } from '../../engine/control/running-device.js';
import { refusals } from '../../base/errors/errors.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import type { PortPolicy } from '../../engine/forwarding/orders.js';
import { canonical, type BridgePort, type Nio } from '../links/nio.js';
import type { EndNode, LinkEnds } from '../links/link-ends.js';
import type { NioSockets } from '../links/nio-sockets.js';
import { shownCounters, type ShownCounters } from './statistics.js';
import type { UdpPorts } from '../links/udp-ports.js';

interface Attachment {
  readonly nio: Nio | BridgePort;
  readonly endpoint: PortEndpoint;
  /** The kernel's count of lost frames when the counters were last reset. */
  lostBefore: number;
}

export interface AttachmentsOptions {
  readonly device: RunningDevice;
  readonly sockets: NioSockets;
  readonly udpPorts: UdpPorts;
  readonly projectId: string;
  /** For attachments that are the links of a node. */
  readonly links?: { readonly ends: LinkEnds; readonly node: EndNode };
}

const MOST_PORTS = 1024;

export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #byPort = new Map<number, Attachment>();

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#byPort.size;
  }

  /** `folder` is that of the project. */
  async attach(port: number, nio: Nio | BridgePort, folder: string, policy: PortPolicy): Promise<void> {
    const { device, sockets } = this.#options;
    this.checkFree(port);
    if (this.#byPort.size >= MOST_PORTS) throw refusals.tooMany('ports attached', MOST_PORTS);
    const endpoint = await sockets.open(nio, folder);
    try {
      await device.attach(port, endpoint, policy);
    } catch (error) {
      sockets.close(endpoint);
      throw refusalOf(error, nio, endpoint);
    }
    this.#byPort.set(port, { nio, endpoint, lostBefore: 0 });
    const { links } = this.#options;
    links?.ends.add(endpoint, links.node, port);
  }

  /** Changes what lies between an attached port and its link. */
  async setPolicy(port: number, policy: PortPolicy): Promise<void> {
    this.check(port);
    await this.#options.device.setPolicy(port, policy);
  }

  /** Refuses (409) a port that is attached. */
  checkFree(port: number): void {
    if (this.#byPort.has(port)) throw refusals.portOccupied(port);
  }

  /** Refuses (409) a port that is not attached. */
  check(port: number): void {
    if (!this.#byPort.has(port)) throw refusals.portUnattached(port);
  }

  /** Refuses (409) a port that is not attached, and another NIO than the one that is; filters and suspension may differ. */
  checkSame(port: number, nio: Nio): void {
    this.check(port);
    const attached = this.#byPort.get(port)?.nio;
    if (attached === undefined || !isDeepStrictEqual(canonical(attached), canonical(nio)))
      throw refusals.nioFixed();
  }

  async detach(port: number): Promise<void> {
    const attachment = this.#byPort.get(port);
    if (attachment === undefined) throw refusals.portUnattached(port);
    await this.#options.device.detach(port);
    this.#close(port, attachment);
  }

  /** Whether the node at the far end of a port runs, as far as this host knows: what it does not know of counts as running. */
  isFarNodeUp(port: number): boolean {
    const endpoint = this.#byPort.get(port)?.endpoint;
    const far = endpoint && this.#options.links?.ends.farNode(endpoint);
    return far === undefined || far.status === 'started';
  }

  /** Tells the nodes at the far ends that the status of this one has changed. */
  tellFarNodes(): void {
    for (const { endpoint } of this.#byPort.values()) this.#options.links?.ends.tellFar(endpoint);
  }

  /** Call after the device was removed, which detaches all ports. */
  closeAll(): void {
    for (const [port, attachment] of this.#byPort) this.#close(port, attachment);
  }

  /** The counters of each port, sorted by port number. */
  counted(): { readonly port: number; readonly counters: ShownCounters }[] {
    const ports = [...this.#byPort].sort(([a], [b]) => a - b);
    return ports.flatMap(([port, { endpoint, lostBefore }]) => {
      const counters = this.#options.device.counters(port);
      // The kernel counts in 32 bits.
      const lost = (this.#options.sockets.lost(endpoint) - lostBefore) >>> 0;
      return counters === undefined ? [] : [{ port, counters: shownCounters(counters, lost) }];
    });
  }

  resetStatistics(): void {
    const { device, sockets } = this.#options;
    for (const [port, attachment] of this.#byPort) {
      device.resetCounters(port);
      attachment.lostBefore = sockets.lost(attachment.endpoint);
    }
  }

  #close(port: number, { nio, endpoint }: Attachment): void {
    const { sockets, udpPorts, projectId, links } = this.#options;
    this.#byPort.delete(port);
    links?.ends.remove(endpoint);
    sockets.close(endpoint);
    if (nio.type === 'nio_udp') udpPorts.release(nio.lport, projectId);
  }
}

/** The refusal for an attachment that failed in the engine. Only there do sockets fail that engines open themselves. */
function refusalOf(error: unknown, nio: Nio | BridgePort, endpoint: PortEndpoint): unknown {
  if (error instanceof RangeError) return refusals.engineFull(error.message);
  if (nio.type !== 'nio_udp' || endpoint.type !== 'udp-address' || !(error instanceof Error)) return error;
  return refusals.udpNotConnected(nio.rhost, nio.rport, error.message);
}
