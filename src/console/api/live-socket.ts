/** A WebSocket that is opened again whenever it closes, until it is told to stop. */

interface LiveSocketOptions {
  /** Relative to the document; a function is asked for each connection. */
  readonly path: string | (() => string);
  /** Each frame that comes: JSON. */
  readonly onFrame: (frame: unknown) => void;
  /** Each frame that comes: bytes. */
  readonly onBytes?: (bytes: ArrayBuffer) => void;
  /** Called when the socket opens, and when it closes. Whatever was known may be out of date after an opening. */
  readonly onState?: (isOpen: boolean) => void;
}

const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 5000;
/** A server that lives sends something more often than this. */
const SILENCE_MS = 30_000;

/** Returns the function that stops it. */
export function liveSocket({ path, onFrame, onBytes, onState }: LiveSocketOptions): () => void {
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let restMs = FIRST_REST_MS;
  let isStopped = false;

  const listenForSilence = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => socket?.close(), SILENCE_MS);
  };
  const open = (): void => {
    const url = new URL(typeof path === 'string' ? path : path(), document.baseURI);
    url.protocol = url.protocol.replace('http', 'ws');
    socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = (): void => {
      restMs = FIRST_REST_MS;
      listenForSilence();
      onState?.(true);
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>): void => {
      listenForSilence();
      if (typeof data === 'string') onFrame(JSON.parse(data));
      else if (data instanceof ArrayBuffer) onBytes?.(data);
    };
    socket.onclose = (): void => {
      clearTimeout(timer);
      if (isStopped) return;
      onState?.(false);
      timer = setTimeout(open, restMs);
      restMs = Math.min(2 * restMs, LONGEST_REST_MS);
    };
  };
  open();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    const current = socket;
    // A browser complains about a socket that closes before it was open.
    if (current?.readyState === WebSocket.CONNECTING) current.onopen = () => current.close();
    else current?.close();
  };
}
