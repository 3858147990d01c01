/** A cloud: ports that lead to interfaces of the host, to bridges, to TAPs and to UDP. */
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { nodeFolder } from '../../files/node-files/node-folder.js';
import { cloud } from '../../lab/kinds/cloud.js';
import { givenPorts, type CloudPort } from '../../lab/kinds/cloud-ports.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import type { ComputeServices } from '../compute-services.js';
import { cloudInterfaces } from '../host-interfaces.js';
import type { BridgePort, Nio } from '../links/nio.js';
import type { NewComputeNode, NodeSettings } from './compute-node.js';
import type { NodeProject } from './machine.js';
import { OutletNode } from './outlet-node.js';

const PLAIN = { suspended: false, filters: undefined };

export class CloudNode extends OutletNode {
  readonly kind = cloud;
  readonly #given: Properties;

  constructor(home: NodeProject, wanted: NewComputeNode, services: ComputeServices) {
    super(home, cloud, wanted, services);
    this.#given = wanted.properties;
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

  protected ownFields(): object {
    const folder = nodeFolder({ node_type: 'cloud', node_id: this.id });
    return { node_directory: join(this.home.folder, folder) };
  }

  protected override async linkComes(port: number): Promise<void> {
    const mapped = givenPorts(this.properties)?.[port >> 1];
    if (mapped === undefined) throw refusals.portMissing(port >> 1);
    await this.inner.attach(port - 1, await this.#nioOf(mapped, port >> 1), this.home.folder, PLAIN);
  }

  protected override linkWent(port: number): Promise<void> {
    return this.inner.detach(port - 1);
  }

  async #nioOf(mapped: CloudPort, port: number): Promise<Nio | BridgePort> {
    switch (mapped.type) {
      case 'ethernet':
        return (await this.#isBridge(mapped.interface))
          ? { type: 'bridge', bridge: mapped.interface, port }
          : { type: 'nio_generic_ethernet', ethernet_device: mapped.interface };
      case 'tap':
        return { type: 'nio_tap', tap_device: mapped.interface };
      case 'udp':
        return { type: 'nio_udp', lport: mapped.lport, rhost: mapped.rhost, rport: mapped.rport };
    }
  }

  /** A packet socket on a bridge would see the frames of the host only, not those between the ports of the bridge. */
  async #isBridge(name: string): Promise<boolean> {
    const found = await this.services.files.run('findInterfaces', undefined);
    return found.some((known) => known.name === name && known.isBridge);
  }
}
