/**
 * The wire between a program and an inner port of its node's patch: a pair of UDP ports on 127.0.0.1. The program binds
 * one and sends to the other, where the engine is.
 */
import { refusals } from '../../base/errors/errors.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import type { AttachmentsOptions } from './attachments.js';
import type { AdapterWire } from './kept-programs.js';

export class ProgramWire implements AdapterWire {
  readonly programPort: number;
  readonly enginePort: number;
  readonly #port: number;
  readonly #endpoint: PortEndpoint;
  readonly #place: AttachmentsOptions;

  /** `port` is that of the device. Nothing is left of a wire that cannot be opened. */
  static async open(port: number, place: AttachmentsOptions): Promise<ProgramWire> {
    const { device, sockets, udpPorts, projectId } = place;
    const reserved: number[] = [];
    try {
      const programPort = await udpPorts.reserve(projectId);
      reserved.push(programPort);
      const enginePort = await udpPorts.reserve(projectId);
      reserved.push(enginePort);
      const endpoint = sockets.openLoopback(enginePort, programPort);
      try {
        await device.attach(port, endpoint);
      } catch (error) {
        sockets.close(endpoint);
        throw error instanceof RangeError ? refusals.engineFull(error.message) : error;
      }
      return new ProgramWire({ programPort, enginePort }, port, endpoint, place);
    } catch (error) {
      for (const number of reserved) udpPorts.release(number, projectId);
      throw error;
    }
  }

  private constructor(
    { programPort, enginePort }: AdapterWire,
    port: number,
    endpoint: PortEndpoint,
    place: AttachmentsOptions,
  ) {
    this.programPort = programPort;
    this.enginePort = enginePort;
    this.#port = port;
    this.#endpoint = endpoint;
    this.#place = place;
  }

  /** The engine lets go of the port before the socket is closed. */
  async close(): Promise<void> {
    try {
      await this.#place.device.detach(this.#port);
    } finally {
      this.closeSocket();
    }
  }

  /** Call it alone only at the end of the process, when no engine runs any more. */
  closeSocket(): void {
    const { sockets, udpPorts, projectId } = this.#place;
    sockets.close(this.#endpoint);
    for (const number of [this.programPort, this.enginePort]) udpPorts.release(number, projectId);
  }
}
