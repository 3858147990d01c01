/** The text consoles of nodes. */
import type { ConsoleNewsShape, ConsoleOrderShape } from '../../api/shapes/consoles.js';
import { segment } from './call.js';

/** A frame of the client may have 64 KiB. */
const LARGEST_PIECE = 16 * 1024;

interface ConsoleSocketOptions {
  /** Whether nothing is to be typed. */
  readonly isWatching: boolean;
  readonly onOpen: () => void;
  readonly onBytes: (bytes: Uint8Array) => void;
  readonly onNews: (news: ConsoleNewsShape) => void;
  /** Called once, as the last: the reason is the server's sentence, or empty. */
  readonly onClose: (reason: string) => void;
}

/** One connection to the console of a node. */
export class ConsoleSocket {
  readonly #socket: WebSocket;

  constructor(lab: string, node: string, options: ConsoleSocketOptions) {
    const { isWatching, onOpen, onBytes, onNews, onClose } = options;
    const mode = isWatching ? 'watch' : 'use';
    const path = `v2/projects/${segment(lab)}/nodes/${segment(node)}/console/ws?news=yes&mode=${mode}`;
    const url = new URL(path, document.baseURI);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = (this.#socket = new WebSocket(url));
    socket.binaryType = 'arraybuffer';
    socket.onopen = onOpen;
    socket.onmessage = ({ data }: MessageEvent<unknown>): void => {
      if (typeof data === 'string') onNews(JSON.parse(data) as ConsoleNewsShape);
      else if (data instanceof ArrayBuffer) onBytes(new Uint8Array(data));
    };
    socket.onclose = ({ reason }): void => onClose(reason);
  }

  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < bytes.length; at += LARGEST_PIECE)
      this.#socket.send(bytes.subarray(at, at + LARGEST_PIECE));
  }

  resize(size: ConsoleOrderShape): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(size));
  }

  close(): void {
    const socket = this.#socket;
    socket.onmessage = null;
    socket.onclose = null;
    // A browser complains about a socket that closes before it was open.
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket.close();
  }
}
