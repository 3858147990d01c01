/** A WebSocket that is opened again whenever it closes, until it is told to stop; HTTP takes its place where none passes. */
import { send, sendForLines, type Call } from './call.js';
import { watchForSocket } from './socket-watch.js';

interface LiveSocketOptions {
  /** Relative to the document; a function is asked for each connection. */
  readonly path: string | (() => string);
  /** Each frame that comes: JSON. */
  readonly onFrame: (frame: unknown) => void;
  /** Each frame that comes: bytes. */
  readonly onBytes?: (bytes: ArrayBuffer) => void;
  /** Called when it is opened, and when it closes. Whatever was known may be out of date after an opening. */
  readonly onState?: (isOpen: boolean, way: LiveWay) => void;
  /** Hears the same over HTTP until the signal: calls `heard` at each sign of life, and ends when the server ends it. */
  readonly otherwise: (heard: () => void, signal: AbortSignal) => Promise<void>;
}

export type LiveWay = 'socket' | 'http';

const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 5000;
/** A server that lives sends something more often than this. */
const SILENCE_MS = 30_000;
const ASKED_EVERY_MS = 1000;
/** Sockets that do not open, one after the other, before HTTP is tried. */
const MOST_FAILURES = 2;

/** Returns the function that stops it. */
export function liveSocket(options: LiveSocketOptions): () => void {
  const { path, onFrame, onBytes, onState, otherwise } = options;
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let restMs = FIRST_REST_MS;
  let isStopped = false;
  let failures = 0;
  let leave = new AbortController();

  const listenForSilence = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => socket?.close(), SILENCE_MS);
  };
  const address = (): string => {
    const url = new URL(typeof path === 'string' ? path : path(), document.baseURI);
    url.protocol = url.protocol.replace('http', 'ws');
    return url.href;
  };
  const open = (): void => {
    socket = new WebSocket(address());
    socket.binaryType = 'arraybuffer';
    // Nobody may answer at all.
    listenForSilence();
    socket.onopen = (): void => {
      restMs = FIRST_REST_MS;
      failures = -1;
      listenForSilence();
      onState?.(true, 'socket');
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>): void => {
      listenForSilence();
      if (typeof data === 'string') onFrame(JSON.parse(data));
      else if (data instanceof ArrayBuffer) onBytes?.(data);
    };
    socket.onclose = (): void => {
      clearTimeout(timer);
      failures++;
      rest('socket');
    };
  };
  const rest = (way: LiveWay): void => {
    if (isStopped) return;
    onState?.(false, way);
    timer = setTimeout(() => (failures < MOST_FAILURES ? open() : void listen()), restMs);
    restMs = Math.min(2 * restMs, LONGEST_REST_MS);
  };
  const listen = async (): Promise<void> => {
    leave = new AbortController();
    failures = 0;
    let isHeard = false;
    timer = setTimeout(() => leave.abort(), SILENCE_MS);
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => leave.abort(), SILENCE_MS);
      if (isHeard) return;
      isHeard = true;
      // A socket is tried again first, when this ends: the server may only have been away.
      failures = MOST_FAILURES - 1;
      restMs = FIRST_REST_MS;
      onState?.(true, 'http');
      watchForSocket(address, leave.signal, () => {
        failures = 0;
        leave.abort();
      });
    };
    await otherwise(heard, leave.signal).catch(() => undefined);
    clearTimeout(timer);
    leave.abort();
    rest('http');
  };
  open();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    leave.abort();
    const current = socket;
    // A browser complains about a socket that closes before it was open.
    if (current?.readyState === WebSocket.CONNECTING) current.onopen = () => current.close();
    else current?.close();
  };
}

/** Hears lines of JSON, as frames would have them. */
export const linesOf =
  (path: () => string, onFrame: (frame: unknown) => void): LiveSocketOptions['otherwise'] =>
  (heard, signal) =>
    sendForLines(path(), signal, (line) => {
      heard();
      onFrame(line);
    });

/** Asks again and again, as often as frames would come. */
export const askingFor =
  <Answer>(call: Call<Answer>, onAnswer: (answer: Answer) => void): LiveSocketOptions['otherwise'] =>
  async (heard, signal) => {
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      const answer = await send(call);
      if (isOver()) return;
      heard();
      onAnswer(answer);
      await new Promise((resolve) => setTimeout(resolve, ASKED_EVERY_MS));
    }
  };
