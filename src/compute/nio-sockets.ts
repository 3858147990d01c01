/** Opens what a port is to be attached to. What this host cannot do is refused (409) with what is missing. */
import type { BlockList } from 'node:net';
import { refusals } from '../errors.js';
import { OpenError, type Attachable, type Opener } from '../sockets/opener.js';
import type { Endpoint } from '../switching/endpoint.js';
import type { ComputeFiles } from './files.js';
import type { Nio } from './nio.js';
import { udpAttachable } from './udp-peer.js';

export interface NioSocketsOptions {
  readonly opener: Opener;
  readonly files: ComputeFiles;
  /** Where UDP may lead; undefined is anywhere. */
  readonly networks: BlockList | undefined;
}

const NOT_PERMITTED = /\((EPERM|EACCES)\)$/;

export class NioSockets {
  readonly #opener: Opener;
  readonly #files: ComputeFiles;
  readonly #networks: BlockList | undefined;

  constructor({ opener, files, networks }: NioSocketsOptions) {
    this.#opener = opener;
    this.#files = files;
    this.#networks = networks;
  }

  /** `folder` is the project's. */
  async open(nio: Nio, folder: string): Promise<Endpoint> {
    switch (nio.type) {
      case 'nio_udp': {
        const attachable = await udpAttachable(nio, this.#networks);
        return this.#open(attachable, (reason) => refusals.udpNotConnected(nio.rhost, nio.rport, reason));
      }
      case 'nio_tap':
        await this.#checkUp('TAP', nio.tap_device);
        return this.#openInterface({ type: 'tap', device: nio.tap_device }, 'CAP_NET_ADMIN');
      case 'nio_generic_ethernet':
        await this.#checkUp('Ethernet', nio.ethernet_device);
        return this.#openInterface({ type: 'packet', device: nio.ethernet_device }, 'CAP_NET_RAW');
      case 'nio_linux_ethernet':
        return this.#openInterface({ type: 'packet', device: nio.ethernet_device }, 'CAP_NET_RAW');
      case 'nio_unix': {
        const [localFile, remoteFile] = await Promise.all(
          [nio.local_file, nio.remote_file].map((path) =>
            this.#files.run('placeSocketFile', { folder, path }),
          ),
        );
        if (localFile === undefined || remoteFile === undefined) throw refusals.fileForbidden();
        return this.#open({ type: 'unix', localFile, remoteFile }, (reason) =>
          refusals.nioNotOpened('the Unix socket', reason),
        );
      }
      case 'nio_null':
        return this.#opener.open({ type: 'null' });
      case 'nio_ethernet':
      case 'nio_nat':
      case 'nio_vde':
      case 'nio_vmnet':
        throw refusals.nioNotSupported(nio.type);
    }
  }

  close(endpoint: Endpoint): void {
    this.#opener.close(endpoint);
  }

  lost(endpoint: Endpoint): number {
    return this.#opener.lost(endpoint);
  }

  #openInterface(wanted: Extract<Attachable, { device: string }>, capability: string): Endpoint {
    return this.#open(wanted, (reason) =>
      refusals.nioNotOpened(
        `the interface ${wanted.device}`,
        NOT_PERMITTED.test(reason) ? `this needs the capability ${capability}` : reason,
      ),
    );
  }

  #open(wanted: Attachable, refusalOf: (reason: string) => Error): Endpoint {
    try {
      return this.#opener.open(wanted);
    } catch (error) {
      if (error instanceof OpenError) throw refusalOf(error.message);
      throw error;
    }
  }

  /** Elsewhere than on Linux the opener says that it needs Linux. */
  async #checkUp(kind: string, name: string): Promise<void> {
    if (process.platform !== 'linux') return;
    const interfaces = await this.#files.run('findInterfaces', undefined);
    if (interfaces.find((known) => known.name === name)?.isUp !== true)
      throw refusals.interfaceDown(kind, name);
  }
}
