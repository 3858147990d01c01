/** Where the connections of a console go that is not telnet: a TCP port on the loopback of a network. */
import type { Socket } from 'node:net';
import type { Confinement, NodeNetwork } from '../confinement.js';

export class ConsoleTarget {
  readonly #confinement: Pick<Confinement, 'connect'>;
  readonly #port: () => number;
  #network: NodeNetwork | undefined;

  /** It closes the network. The port is asked for with each connection. */
  constructor(confinement: Pick<Confinement, 'connect'>, network: NodeNetwork, port: () => number) {
    this.#confinement = confinement;
    this.#network = network;
    this.#port = port;
  }

  /** Rejects when it is closed. */
  readonly open = async (): Promise<Socket> => {
    if (this.#network === undefined) throw new Error('the network has gone');
    return this.#confinement.connect(this.#network.path, this.#port());
  };

  close(): void {
    this.#network?.close();
    this.#network = undefined;
  }
}
