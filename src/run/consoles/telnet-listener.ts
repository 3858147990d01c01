/** The telnet port of one console. */
import { createServer, type Server, type Socket } from 'node:net';
import type { ConsoleHub } from './console-hub.js';
import { telnetBytes, telnetGreeting, TelnetProtocol } from './telnet-protocol.js';

/** More connections are closed at once. */
export const MOST_CONNECTIONS = 32;
/** So long a connection is silent before the system asks, ten times, whether the other end is still there. */
const KEEP_ALIVE_MS = 60_000;

export class TelnetListener {
  readonly #hub: ConsoleHub;
  readonly #options: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #connections = new Set<Socket>();

  constructor(hub: ConsoleHub, options: { readonly host: string; readonly port: number }) {
    this.#hub = hub;
    this.#options = options;
    const sockets = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    this.#server = createServer(sockets, (socket) => {
      this.#serve(socket);
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

  #serve(socket: Socket): void {
    this.#connections.add(socket);
    const asksForWindow = this.#hub.canResize;
    socket.write(telnetGreeting(asksForWindow));
    const seat = this.#hub.join({
      send: (bytes) => {
        socket.write(telnetBytes(bytes));
        return socket.writableLength;
      },
      cut: () => {
        socket.destroy();
      },
    });
    const protocol = new TelnetProtocol(seat, asksForWindow);
    socket.on('data', (bytes) => {
      const answer = protocol.receive(bytes);
      if (answer.length > 0) socket.write(answer);
    });
    // A client that types nothing any more has gone.
    socket.on('end', () => {
      socket.destroy();
    });
    // It is closed after an error.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#connections.delete(socket);
      seat.leave();
    });
  }
}
