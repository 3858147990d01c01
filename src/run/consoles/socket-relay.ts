/**
 * The TCP port of a console that speaks a protocol of its own, such as VNC: each connection is passed on to the Unix socket
 * at which the program serves it. Neither side is read faster than the other one takes the bytes.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { MOST_CONNECTIONS } from './telnet-listener.js';

const KEEP_ALIVE_MS = 60_000;

export class SocketRelay {
  /** The path of the Unix socket; while it is undefined, connections are closed at once. */
  path: string | undefined;
  readonly #options: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #connections = new Set<Socket>();

  constructor(options: { readonly host: string; readonly port: number }) {
    this.#options = options;
    const sockets = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    this.#server = createServer(sockets, (client) => {
      this.#serve(client);
    });
    this.#server.maxConnections = MOST_CONNECTIONS;
    // A connection that could not be accepted, for want of descriptors, is lost; the port goes on.
    this.#server.on('error', () => undefined);
  }

  /** Rejects with the error of the system (EADDRINUSE ...). */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ ...this.#options, exclusive: true }, () => {
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

  #serve(client: Socket): void {
    if (this.path === undefined) {
      client.destroy();
      return;
    }
    const program = connect({ path: this.path });
    for (const [socket, other] of [
      [client, program],
      [program, client],
    ] as const) {
      this.#connections.add(socket);
      // It is closed after an error.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#connections.delete(socket);
        // The last bytes that it has sent are on their way.
        other.destroySoon();
      });
      socket.pipe(other);
    }
  }
}
