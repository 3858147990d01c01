/**
 * The inner ports of a node's patch, at which its program is: attached while the program runs, most of them by a pair of
 * UDP ports on 127.0.0.1. Port i of the node is the inner port 2i.
 */
import { refusals } from '../../base/errors/errors.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import type { Program } from '../keeper/keeper.js';
import type { AttachmentsOptions } from './attachments.js';
import type { NodeNetwork } from './confinement.js';
import type { KeptNode, NodeMemo } from './kept-programs.js';
import type { AdapterWire } from '../links/udp-ports.js';

interface InnerPort {
  readonly port: number;
  readonly endpoint: PortEndpoint;
  /** The UDP ports that belong to the node as long. */
  readonly wire: AdapterWire | undefined;
}

/**
 * Resolves with the network of a node whose programs have one of their own, and with the engine's ends of its wires. The
 * path is that of a network which is there.
 */
type OpenNetwork = (
  wires: readonly AdapterWire[],
  path: string | undefined,
) => Promise<NodeNetwork | undefined>;

export class InnerPorts {
  readonly #place: AttachmentsOptions;
  readonly #openNetwork: OpenNetwork;
  readonly #attached: InnerPort[] = [];
  /** The same network at each opening of wires. */
  readonly #networks: NodeNetwork[] = [];

  constructor(place: AttachmentsOptions, openNetwork: OpenNetwork) {
    this.#place = place;
    this.#openNetwork = openNetwork;
  }

  /** The path of the network in which the programs are. */
  get network(): string | undefined {
    return this.#networks[0]?.path;
  }

  /** For the memo of the program. */
  get memo(): Pick<NodeMemo, 'hasNetwork' | 'wires'> {
    const wires = this.#attached.flatMap(({ port, wire }) =>
      wire === undefined ? [] : [{ index: port >> 1, ...wire }],
    );
    return { wires, hasNetwork: this.network !== undefined };
  }

  /** Opens wires for these ports of the node. */
  async openUdp(indexes: readonly number[]): Promise<readonly AdapterWire[]> {
    const wires = new Map<number, AdapterWire>();
    try {
      for (const index of indexes) wires.set(index, await this.#reserveWire());
    } catch (error) {
      for (const wire of wires.values()) this.#releasePorts(wire);
      throw error;
    }
    await this.#openWires(wires);
    return [...wires.values()];
  }

  /** Opens the wires of programs of an earlier server again, in the network in which they are. */
  async adopt({ programs: [program], wires, hasNetwork }: KeptNode): Promise<void> {
    await this.#openWires(wires, program);
    if (hasNetwork !== (this.network !== undefined)) throw new Error('it is confined in another way');
  }

  async #reserveWire(): Promise<AdapterWire> {
    const { udpPorts } = this.#place;
    const programPort = await udpPorts.reserve(this.#place.projectId);
    try {
      return { programPort, enginePort: await udpPorts.reserve(this.#place.projectId) };
    } catch (error) {
      udpPorts.release(programPort, this.#place.projectId);
      throw error;
    }
  }

  /** Opens and attaches the engine's ends of wires by the index of their port. Releases those that fail. */
  async #openWires(wires: ReadonlyMap<number, AdapterWire>, kept?: Program): Promise<void> {
    const all = [...wires];
    let endpoints: readonly PortEndpoint[] = [];
    let attached = 0;
    try {
      endpoints = await this.#openSockets([...wires.values()], kept);
      for (const endpoint of endpoints) {
        const [index, wire] = all[attached] ?? [0, undefined];
        await this.#place.device.attach(2 * index, endpoint);
        this.#attached.push({ port: 2 * index, endpoint, wire });
        attached++;
      }
    } catch (error) {
      for (const endpoint of endpoints.slice(attached)) this.#place.sockets.close(endpoint);
      for (const [, wire] of all.slice(attached)) this.#releasePorts(wire);
      throw error instanceof RangeError ? refusals.engineFull(error.message) : error;
    }
  }

  /** The engine's ends of the wires, in the network of the node if its programs have one of their own. */
  async #openSockets(
    wires: readonly AdapterWire[],
    kept: Program | undefined,
  ): Promise<readonly PortEndpoint[]> {
    const { sockets } = this.#place;
    const path = kept === undefined ? this.network : `/proc/${kept.pid}/ns/net`;
    const network = await this.#openNetwork(wires, path);
    if (network !== undefined) {
      this.#networks.push(network);
      return network.endpoints;
    }
    const opened: PortEndpoint[] = [];
    try {
      for (const { enginePort, programPort } of wires)
        opened.push(sockets.openLoopback(enginePort, programPort));
      return opened;
    } catch (error) {
      for (const endpoint of opened) sockets.close(endpoint);
      throw error;
    }
  }

  /** Closes the endpoint when it cannot be attached. */
  async attach(index: number, endpoint: PortEndpoint): Promise<void> {
    const port = 2 * index;
    try {
      await this.#place.device.attach(port, endpoint);
      this.#attached.push({ port, endpoint, wire: undefined });
    } catch (error) {
      this.#place.sockets.close(endpoint);
      throw error instanceof RangeError ? refusals.engineFull(error.message) : error;
    }
  }

  #releasePorts({ programPort, enginePort }: AdapterWire): void {
    const { udpPorts } = this.#place;
    udpPorts.release(programPort, this.#place.projectId);
    udpPorts.release(enginePort, this.#place.projectId);
  }

  async close(): Promise<void> {
    for (const { close } of this.#networks.splice(0)) close();
    const { sockets } = this.#place;
    for (const { port, endpoint, wire } of this.#attached.splice(0)) {
      try {
        await this.#place.device.detach(port);
      } finally {
        sockets.close(endpoint);
        if (wire !== undefined) this.#releasePorts(wire);
      }
    }
  }

  /** Call it alone only at the end of the process, when no engine runs any more. */
  closeSockets(): void {
    for (const { close } of this.#networks.splice(0)) close();
    for (const { endpoint, wire } of this.#attached.splice(0)) {
      this.#place.sockets.close(endpoint);
      if (wire !== undefined) this.#releasePorts(wire);
    }
  }
}
