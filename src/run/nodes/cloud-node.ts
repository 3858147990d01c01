/**
 * A cloud: ports that lead to interfaces of the host, to TAPs and to UDP. A patch on an engine stands between these and
 * the links: the inner port of a pair is open for as long as a link is attached at the outer port.
 */
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { nodeFolder } from '../../files/node-files/node-folder.js';
import { cloud } from '../../lab/kinds/cloud.js';
import { givenPorts, type CloudPort } from '../../lab/kinds/cloud-ports.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import { storedList } from '../../lab/kinds/ports-mapping.js';
import type { NodeStatus } from '../../lab/lab-run.js';
import type { ComputeServices } from '../compute-services.js';
import { cloudInterfaces } from '../host-interfaces.js';
import type { Nio } from '../links/nio.js';
import { Attachments } from './attachments.js';
import { ComputeNode, type NewComputeNode, type NodeSettings } from './compute-node.js';
import type { NodeProject } from './machine.js';

const PLAIN = { suspended: false, filters: undefined };

export class CloudNode extends ComputeNode {
  readonly kind = cloud;
  readonly status: NodeStatus = 'started';
  readonly console = undefined;
  readonly #given: Properties;
  /** The inner ports of the patch. */
  readonly #inner: Attachments;

  constructor(home: NodeProject, wanted: NewComputeNode, services: ComputeServices) {
    super(home, cloud, wanted, services);
    const { sockets, udpPorts } = services;
    this.#given = wanted.properties;
    this.#inner = new Attachments({ device: this.device, sockets, udpPorts, projectId: home.id });
  }

  install(): Promise<void> {
    return this.turn(async () => {
      this.properties = cloud.create(this.#given, this.id, await cloudInterfaces(this.services.files));
      await this.device.install({ kind: 'patch', settings: null });
    });
  }

  update({ name = this.name, properties }: NodeSettings): Promise<string> {
    return this.turn(async () => {
      this.checkName(name);
      const interfaces = await cloudInterfaces(this.services.files);
      const next = cloud.update(this.properties, properties, this.attachments.size > 0);
      this.properties = { ...next, interfaces };
      this.name = name;
      this.services.channel.emit('node.updated', this.text, this.home.id);
      return this.text;
    });
  }

  /** As in the reference, the adapter does not matter. */
  portAt(_adapter: number, port: number): number {
    return 2 * port + 1;
  }

  override closeSockets(): void {
    super.closeSockets();
    this.#inner.closeAll();
  }

  protected placeOf(port: number): { adapter_number: number; port_number: number } {
    return { adapter_number: 0, port_number: port >> 1 };
  }

  protected ownFields(): object {
    const folder = nodeFolder({ node_type: 'cloud', node_id: this.id });
    return { node_directory: join(this.home.folder, folder) };
  }

  /** Links are attached at outer ports, which are odd. */
  protected checkAttachable(port: number): void {
    if (port % 2 === 0 || port >> 1 >= storedList(this.properties).length)
      throw refusals.portMissing(port >> 1);
  }

  protected override async linkComes(port: number): Promise<void> {
    const mapped = givenPorts(this.properties)?.[port >> 1];
    if (mapped === undefined) throw refusals.portMissing(port >> 1);
    if (mapped.type === 'ethernet') await this.#checkNoBridge(mapped.interface);
    await this.#inner.attach(port - 1, nioOf(mapped), this.home.folder, PLAIN);
  }

  protected override linkWent(port: number): Promise<void> {
    return this.#inner.detach(port - 1);
  }

  protected end(): Promise<void> {
    return Promise.resolve();
  }

  /** A packet socket on a bridge would see the frames of the host only, not those between the ports of the bridge. */
  async #checkNoBridge(name: string): Promise<void> {
    const found = await this.services.files.run('findInterfaces', undefined);
    if (found.some((known) => known.name === name && known.isBridge)) throw refusals.bridgeNotSupported(name);
  }
}

function nioOf(mapped: CloudPort): Nio {
  switch (mapped.type) {
    case 'ethernet':
      return { type: 'nio_generic_ethernet', ethernet_device: mapped.interface };
    case 'tap':
      return { type: 'nio_tap', tap_device: mapped.interface };
    case 'udp':
      return { type: 'nio_udp', lport: mapped.lport, rhost: mapped.rhost, rport: mapped.rport };
  }
}
