/** The TCP port of one console. The protocol that clients speak there is that of a subclass. */
import { createServer, type Server, type Socket } from 'node:net';
import { MOST_CLIENTS } from './console-hub.js';

/** So long a connection is silent before the system asks, ten times, whether the other end is still there. */
const KEEP_ALIVE_MS = 60_000;

/** Where consoles listen, and whom they serve. Both may change while the server runs. */
export interface ConsoleReach {
  readonly host: string;
  /** Whether a client at this address, which is not that of the port itself, may connect. */
  serves(address: string): boolean;
}

export interface ConsolePlace {
  readonly reach: ConsoleReach;
  readonly port: number;
}

export abstract class ConsolePort {
  readonly #place: ConsolePlace;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();

  constructor(place: ConsolePlace) {
    this.#place = place;
    const sockets = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    this.#server = createServer(sockets, (client) => {
      if (this.#serves(client)) this.serve(client);
      else client.destroy();
    });
    // More connections are closed at once.
    this.#server.maxConnections = MOST_CLIENTS;
    // A connection that could not be accepted, for want of descriptors, is lost; the port goes on.
    this.#server.on('error', () => undefined);
  }

  /** Rejects with the error of the system (EADDRINUSE ...). */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const { reach, port } = this.#place;
      this.#server.listen({ host: reach.host, port, exclusive: true }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  /** Cuts all connections, and resolves when the port is free. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      for (const socket of this.#connections) socket.destroy();
    });
  }

  /** Called with each connection of a client. */
  protected abstract serve(client: Socket): void;

  #serves({ remoteAddress: address, localAddress: own }: Socket): boolean {
    return address !== undefined && (address === own || this.#place.reach.serves(address));
  }

  /** The connection is cut with the port. `closed` is called when it has closed. */
  protected hold(socket: Socket, closed: () => void): void {
    this.#connections.add(socket);
    // It is closed after an error.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#connections.delete(socket);
      closed();
    });
  }
}
