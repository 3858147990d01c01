/**
 * One app of the library with the socket at which it listens. An app has one certificate from its beginning to its end, so
 * another certificate needs another app: both listen at the same port for a moment, and the connections of the former go on.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import {
  App,
  SSLApp,
  us_listen_socket_close,
  us_socket_local_port,
  type TemplatedApp,
  type us_listen_socket,
} from 'uWebSockets.js';

/** The paths of a certificate with its chain, and of its key, as PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** The port is for this server alone. By default the library lets several apps share it. */
const EXCLUSIVE_PORT = 1;
const SHARED_PORT = 0;

const QUIET_MS = 0.2;
const MOST_TURNS = 500;

export class Entrance {
  readonly app: TemplatedApp;
  readonly #isShared: boolean;
  #listenSocket: us_listen_socket | undefined;
  #accepted = 0;
  #connections = 0;
  #onEmpty: (() => void) | undefined;

  /** Throws when the files are no pair. */
  constructor(certificate: Certificate | undefined) {
    this.#isShared = certificate !== undefined;
    this.app =
      certificate === undefined
        ? App()
        : SSLApp({ cert_file_name: certificate.certificate, key_file_name: certificate.key });
  }

  /** Resolves with the port; rejects when the server cannot listen on it. */
  async listen(host: string, port: number): Promise<number> {
    return this.#listenAt(host, this.#isShared ? await freePort(host, port) : port);
  }

  /** Listens where another one does. */
  listenBeside(host: string, port: number): Promise<number> {
    return this.#listenAt(host, port);
  }

  opened(): void {
    this.#accepted++;
    this.#connections++;
  }

  closed(): void {
    this.#connections--;
    if (this.#connections === 0) this.#onEmpty?.();
  }

  /** Accepts no more connections; `onEmpty` is called when the last one has ended. */
  async retire(onEmpty: () => void): Promise<void> {
    // The turn that has begun may end without a look at the sockets.
    await turn();
    for (let turns = 0; turns < MOST_TURNS; turns++) if (await this.#isQuietTurn()) break;
    this.stopListening();
    this.#onEmpty = onEmpty;
    if (this.#connections === 0) onEmpty();
  }

  stopListening(): void {
    if (this.#listenSocket !== undefined) us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
  }

  /**
   * Whether a short turn of the event loop has just found no new connection. One that comes after its turn has looked for it
   * waits in the kernel, and is reset when the socket closes.
   */
  async #isQuietTurn(): Promise<boolean> {
    const [accepted, at] = [this.#accepted, performance.now()];
    await turn();
    return this.#accepted === accepted && performance.now() - at < QUIET_MS;
  }

  #listenAt(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listening = (socket: us_listen_socket | false): void => {
        if (socket === false) {
          reject(cannotListen(host, port));
          return;
        }
        this.#listenSocket = socket;
        resolve(us_socket_local_port(socket));
      };
      // The library also takes options together with a host, which its types do not say.
      const app: { listen(...args: unknown[]): unknown } = this.app;
      app.listen(host, port, this.#isShared ? SHARED_PORT : EXCLUSIVE_PORT, listening);
    });
  }
}

/** Tries a port that is going to be shared, which would also succeed beside a server of somebody else. */
async function freePort(host: string, port: number): Promise<number> {
  const probe = createServer();
  probe.listen({ host, port, exclusive: true });
  try {
    await once(probe, 'listening');
  } catch (error) {
    throw new Error(cannotListen(host, port).message, { cause: error });
  }
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}

function cannotListen(host: string, port: number): Error {
  return new Error(`cannot listen on ${host} port ${port}: the port is in use, or the address is not ours`);
}
