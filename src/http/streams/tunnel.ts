/**
 * A WebSocket of a client, and one to the owner of its scope: frames go both ways, at the pace of who takes them. The
 * library answers the pings of either side by itself.
 */
import type { WebSocket as ClientSocket } from 'uWebSockets.js';
import type { WebSocket as OwnerSocket } from 'ws';

/** With more that waits for the client, the owner is asked to wait. */
const MOST_FOR_CLIENT = 256 * 1024;
/** A client cannot be asked to wait: one that sends more than the owner takes is let go. */
const MOST_FOR_OWNER = 1024 * 1024;
/** Owners ping within two minutes. */
const LONGEST_SILENCE_MS = 150_000;
const ANSWER_MS = 10_000;
const GOING_AWAY = 1001;
const NO_CODE = 1005;
const CUT = 1006;
const TRY_AGAIN = 1013;
const NO_HANDSHAKE = 1015;
/** The codes of which a frame that ends a connection may have one. */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code < 1015 && code !== 1004 && code !== NO_CODE && code !== CUT) ||
  (code >= 3000 && code < 5000);

interface TunnelOptions {
  /** Whether the owner wants the frames of the client. */
  readonly isDuplex: boolean;
  /** Called when the owner has gone, and the client is there still; undefined when that ends the tunnel. */
  readonly onLost: (() => void) | undefined;
  /** Called once, when all is over. */
  readonly ended: () => void;
}

/** Holds back what comes from a connection that has just opened, until a tunnel wants it. */
export function held(owner: OwnerSocket): OwnerSocket {
  owner.pause();
  return owner;
}

export class Tunnel {
  readonly #options: TunnelOptions;
  #owner: OwnerSocket;
  #client: ClientSocket<unknown> | undefined;
  #isOver = false;
  #isPaused = true;
  #movedAt = performance.now();
  #askedAt: number | undefined;

  /** The connection to the owner is open, and nothing has come from there. */
  constructor(owner: OwnerSocket, options: TunnelOptions) {
    this.#options = options;
    this.#owner = owner;
    this.#follow(owner);
  }

  /** Whether the client is there still. */
  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** The client's connection is open. */
  begin(client: ClientSocket<unknown>): void {
    this.#client = client;
    this.#goOn();
  }

  /** Goes on with another owner. */
  goOnWith(owner: OwnerSocket): void {
    this.#owner = owner;
    this.#isPaused = true;
    this.#follow(owner);
    if (this.#isOver) owner.terminate();
    else this.#goOn();
  }

  /** Sends the client a frame of this server. */
  tell(text: string): void {
    this.#client?.send(text, false);
  }

  /** A frame of the client; its memory is valid only during the call. */
  received(frame: ArrayBuffer, isText: boolean): void {
    const owner = this.#owner;
    if (!this.#options.isDuplex || owner.readyState !== owner.OPEN) return;
    owner.send(Buffer.from(frame.slice(0)), { binary: !isText });
    if (owner.bufferedAmount > MOST_FOR_OWNER)
      this.#client?.end(TRY_AGAIN, 'more was sent than can be taken');
  }

  /** The library has sent some of what waits for the client. */
  drained(): void {
    if (this.#client !== undefined && this.#client.getBufferedAmount() < MOST_FOR_CLIENT) this.#goOn();
  }

  /** The client's connection is closed, or was never made. */
  gone(code = NO_CODE, reason = ''): void {
    if (this.#isOver) return;
    this.#finish();
    if (isSendable(code)) this.#owner.close(code, reason);
    else if (code === NO_CODE) this.#owner.close();
    else this.#owner.terminate();
    // A close that is not answered would wait behind frames that nobody takes.
    this.#owner.resume();
  }

  /** Looks whether the owner is there still; `hasMoved` when another server has the scope by now. */
  look(hasMoved: boolean, now: number): void {
    if (this.#isOver || this.#isPaused || this.#owner.readyState !== this.#owner.OPEN) return;
    if (hasMoved && this.#options.onLost !== undefined) this.#owner.terminate();
    else if (now - this.#movedAt > LONGEST_SILENCE_MS) this.#owner.terminate();
    else if (hasMoved) this.#ask(now);
  }

  /** There is no other owner for it. */
  end(code: number, reason: string): void {
    const client = this.#client;
    if (this.#isOver) return;
    this.#finish();
    if (code === CUT || code === NO_HANDSHAKE) client?.close();
    else if (code === NO_CODE) client?.end();
    else client?.end(code, reason);
  }

  #ask(now: number): void {
    if (this.#askedAt === undefined || this.#askedAt < this.#movedAt) {
      this.#askedAt = now;
      this.#owner.ping();
    } else if (now - this.#askedAt > ANSWER_MS) this.#owner.terminate();
  }

  #follow(owner: OwnerSocket): void {
    owner.pause();
    this.#movedAt = performance.now();
    const moved = (): void => {
      this.#movedAt = performance.now();
    };
    owner.on('ping', moved);
    owner.on('pong', moved);
    owner.on('message', (data, isBinary) => {
      moved();
      this.#send(data as Buffer, isBinary);
    });
    owner.on('error', () => undefined);
    owner.on('close', (code: number, reason: Buffer) => {
      if (this.#isOver || owner !== this.#owner) return;
      const { onLost } = this.#options;
      if (onLost !== undefined && (code === CUT || code === GOING_AWAY)) onLost();
      else this.end(code, reason.toString());
    });
  }

  #send(data: Buffer, isBinary: boolean): void {
    const client = this.#client;
    if (client === undefined || this.#isOver) return;
    client.send(data, isBinary);
    // The library may have closed it for what waits there.
    if (!this.isOpen || client.getBufferedAmount() < MOST_FOR_CLIENT) return;
    this.#isPaused = true;
    this.#owner.pause();
  }

  #goOn(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#movedAt = performance.now();
    this.#owner.resume();
  }

  #finish(): void {
    this.#isOver = true;
    this.#client = undefined;
    this.#options.ended();
  }
}
