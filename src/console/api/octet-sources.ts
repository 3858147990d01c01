/** The octets of live packets: by a WebSocket, or over HTTP where none passes. */
import { OWN_HEADERS } from './call.js';
import { watchForSocket } from './socket-watch.js';

interface OctetSource {
  close(): void;
}

interface OctetListener {
  onOpen(): void;
  onOctets(octets: Uint8Array): void;
  onClose(): void;
}

/** Sockets that do not open, one after the other, before HTTP is tried. */
const MOST_FAILURES = 2;

export class OctetSources {
  #failures = 0;

  /** The address is that of the WebSocket. */
  open(url: string, listener: OctetListener): OctetSource {
    return this.#failures < MOST_FAILURES ? this.#openSocket(url, listener) : this.#openStream(url, listener);
  }

  #openSocket(url: string, listener: OctetListener): OctetSource {
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = (): void => {
      this.#failures = -1;
      listener.onOpen();
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>): void => {
      if (data instanceof ArrayBuffer) listener.onOctets(new Uint8Array(data));
    };
    socket.onclose = (): void => {
      this.#failures++;
      listener.onClose();
    };
    return socket;
  }

  #openStream(url: string, listener: OctetListener): OctetSource {
    const leave = new AbortController();
    const address = url.replace(/^ws/, 'http').replace('/pcap/ws', '/pcap');
    const onOpen = (): void => {
      listener.onOpen();
      watchForSocket(
        () => url,
        leave.signal,
        () => {
          this.#failures = 0;
          leave.abort();
        },
      );
    };
    void this.#read(address, { ...listener, onOpen }, leave.signal)
      .catch(() => undefined)
      .then(() => {
        leave.abort();
        listener.onClose();
      });
    return { close: () => leave.abort() };
  }

  async #read(address: string, listener: OctetListener, signal: AbortSignal): Promise<void> {
    // A socket is tried again first: the server may only have been away.
    this.#failures = 0;
    const reply = await fetch(address, { headers: OWN_HEADERS, signal });
    if (!reply.ok) return;
    this.#failures = MOST_FAILURES - 1;
    listener.onOpen();
    const reader = reply.body?.getReader();
    for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read())
      listener.onOctets(piece.value);
  }
}
