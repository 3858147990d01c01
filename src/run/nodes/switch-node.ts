/** A switch that runs here: a device on an engine, which runs from when the node is made until it is removed. */
import { refusals } from '../../base/errors/errors.js';
import type { DeviceSettings } from '../../engine/forwarding/orders.js';
import type { Properties, SwitchKind } from '../../lab/kinds/node-kind.js';
import type { NodeStatus } from '../../lab/lab-run.js';
import type { ComputeServices } from '../compute-services.js';
import { ComputeNode, type NewComputeNode, type NodeSettings } from './compute-node.js';
import type { NodeProject } from './machine.js';
import { connectionStatistics, type ConnectionStatistics } from './statistics.js';

export class SwitchNode extends ComputeNode {
  readonly kind: SwitchKind;
  readonly status: NodeStatus = 'started';
  /** The console port of a switch is reserved, and nothing listens there. */
  readonly console = undefined;

  constructor(home: NodeProject, kind: SwitchKind, wanted: NewComputeNode, services: ComputeServices) {
    super(home, kind, wanted, services);
    this.kind = kind;
  }

  install(): Promise<void> {
    return this.turn(async () => {
      await this.device.install(this.#deviceSettings(this.properties));
      if (this.consoleType === 'telnet') this.#warnOfTelnet();
    });
  }

  update({ name = this.name, console_type: consoleType, properties }: NodeSettings): Promise<string> {
    return this.turn(async () => {
      this.checkName(name);
      const next = this.kind.update(this.properties, properties, this.attachments.size > 0);
      if (next !== this.properties) await this.device.configure(this.#deviceSettings(next));
      this.properties = next;
      this.name = name;
      if (consoleType !== undefined && this.consoleType !== undefined) {
        const isNews = consoleType === 'telnet' && this.consoleType !== consoleType;
        this.consoleType = consoleType;
        if (isNews) this.#warnOfTelnet();
      }
      this.services.channel.emit('node.updated', this.text, this.home.id);
      return this.text;
    });
  }

  /** A switch has one adapter, and ignores its number. */
  portAt(_adapter: number, port: number): number {
    return port;
  }

  protected placeOf(port: number): { adapter_number: number; port_number: number } {
    return { adapter_number: 0, port_number: port };
  }

  protected ownFields(): object {
    return {};
  }

  protected checkAttachable(port: number): void {
    if (!this.kind.canAttach(this.properties, port)) throw refusals.portMissing(port);
  }

  protected override connectionStatistics(): ConnectionStatistics[] | undefined {
    return connectionStatistics(this.kind, this.properties, this.device);
  }

  protected end(): Promise<void> {
    return Promise.resolve();
  }

  #deviceSettings(properties: Properties): DeviceSettings {
    const { refusesBadHec } = this.services;
    const countersOf = (names: readonly string[]): number[] => this.device.connections.assign(names);
    try {
      return this.kind.deviceSettings(properties, { refusesBadHec, countersOf });
    } catch (error) {
      throw error instanceof RangeError ? refusals.engineFull(error.message) : error;
    }
  }

  #warnOfTelnet(): void {
    const message = `"${this.name}": Telnet access for switches is not available in this version of GNS3`;
    this.services.channel.emit('log.warning', JSON.stringify({ message }), this.home.id);
  }
}
