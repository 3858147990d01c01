/** Opens the sockets of NIOs. An NIO that this host cannot open is refused (409) with the reason. */
import { refusals } from '../../base/errors/errors.js';
import { OpenError, type Attachable, type Opener } from '../../engine/sockets/opener.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import type { ComputeFiles } from '../files.js';
import type { HostInterface } from '../host-tasks.js';
import type { BridgePort, Nio } from './nio.js';
import { udpAttachable } from './udp-peer.js';
import type { UdpReach } from './udp-reach.js';

export interface NioSocketsOptions {
  readonly opener: Opener;
  readonly files: ComputeFiles;
  readonly reach: UdpReach;
  /** The interfaces of the host that ports may be attached to, besides TAPs of the server's own user. */
  readonly interfaces: ReadonlySet<string>;
}

const LOOPBACK = '127.0.0.1';
const NOT_PERMITTED = ['EPERM', 'EACCES'];

export class NioSockets {
  readonly #opener: Opener;
  readonly #files: ComputeFiles;
  readonly #reach: UdpReach;
  readonly #interfaces: ReadonlySet<string>;

  constructor({ opener, files, reach, interfaces }: NioSocketsOptions) {
    this.#opener = opener;
    this.#files = files;
    this.#reach = reach;
    this.#interfaces = interfaces;
  }

  /** `folder` is that of the project: Unix sockets must lie in it. */
  async open(nio: Nio | BridgePort, folder: string): Promise<PortEndpoint> {
    switch (nio.type) {
      case 'nio_udp': {
        const attachable = await udpAttachable(nio, this.#reach);
        return this.#open(attachable, (reason) => refusals.udpNotConnected(nio.rhost, nio.rport, reason));
      }
      case 'nio_tap': {
        const tap = await this.#findUp('TAP', nio.tap_device);
        if (tap?.tapOwner !== process.geteuid?.()) this.#checkAllowed(nio.tap_device);
        return this.#openInterface({ type: 'tap', device: nio.tap_device }, 'CAP_NET_ADMIN');
      }
      case 'nio_generic_ethernet':
        await this.#findUp('Ethernet', nio.ethernet_device);
        this.#checkAllowed(nio.ethernet_device);
        return this.#openInterface({ type: 'packet', device: nio.ethernet_device }, 'CAP_NET_RAW');
      case 'nio_linux_ethernet':
        this.#checkAllowed(nio.ethernet_device);
        return this.#openInterface({ type: 'packet', device: nio.ethernet_device }, 'CAP_NET_RAW');
      case 'bridge': {
        await this.#findUp('Ethernet', nio.bridge);
        this.#checkAllowed(nio.bridge);
        const tap = `gns3tap%d-${nio.port}`;
        return this.#openInterface({ type: 'bridge', device: nio.bridge, tap }, 'CAP_NET_ADMIN');
      }
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

  /** A pair of UDP ports of this host, whatever networks clients may reach. */
  openLoopback(localPort: number, remotePort: number): PortEndpoint {
    const hosts = { localHost: LOOPBACK, remoteHost: LOOPBACK };
    return this.#open({ type: 'udp', ...hosts, localPort, remotePort }, (reason) =>
      refusals.udpNotConnected(LOOPBACK, remotePort, reason),
    );
  }

  /** A Unix socket of this host at which frames of the other one arrive, whether or not that is there yet. */
  openUnix(localFile: string, remoteFile: string): PortEndpoint {
    return this.#open({ type: 'unix', localFile, remoteFile, isLoose: true }, (reason) =>
      refusals.nioNotOpened(`the Unix socket ${localFile}`, reason),
    );
  }

  /** A Unix socket by which a guest shares at most this many octets of memory. */
  openGuest(path: string, mostMemory: number): PortEndpoint {
    return this.#open({ type: 'vhost-user', path, mostMemory }, (reason) =>
      refusals.nioNotOpened('the Unix socket of an adapter', reason),
    );
  }

  /** Resolves with the reason when the guest is cut off for the first time; undefined when it never was. */
  guestFault(endpoint: PortEndpoint): Promise<string | undefined> {
    return this.#opener.guestFault(endpoint);
  }

  /** A new TAP of this server's own, which goes when it is closed. */
  openTap(device: string): PortEndpoint {
    return this.#openInterface({ type: 'tap', device }, 'CAP_NET_ADMIN');
  }

  /** Lets the interface of a TAP have a carrier, or not. Throws OpenError. */
  setCarrier(tap: PortEndpoint, isThere: boolean): void {
    this.#opener.setCarrier(tap, isThere);
  }

  close(endpoint: PortEndpoint): void {
    this.#opener.close(endpoint);
  }

  lost(endpoint: PortEndpoint): number {
    return this.#opener.lost(endpoint);
  }

  #openInterface(wanted: Extract<Attachable, { device: string }>, capability: string): PortEndpoint {
    return this.#open(wanted, (reason, code) =>
      refusals.nioNotOpened(
        `the interface ${wanted.device}`,
        NOT_PERMITTED.includes(code) ? `this needs the capability ${capability}` : reason,
      ),
    );
  }

  #open(wanted: Attachable, refusalOf: (reason: string, code: string) => Error): PortEndpoint {
    try {
      return this.#opener.open(wanted);
    } catch (error) {
      if (error instanceof OpenError) throw refusalOf(error.message, error.code ?? '');
      throw error;
    }
  }

  /** A port on an interface of the host reads the traffic of others and can send in their name, so it must be allowed. */
  #checkAllowed(name: string): void {
    if (!this.#interfaces.has(name)) throw refusals.interfaceNotAllowed(name);
  }

  /** On other platforms than Linux the opener refuses. */
  async #findUp(kind: string, name: string): Promise<HostInterface | undefined> {
    if (process.platform !== 'linux') return undefined;
    const found = (await this.#files.run('findInterfaces', undefined)).find((known) => known.name === name);
    if (found?.isUp !== true) throw refusals.interfaceDown(kind, name);
    return found;
  }
}
