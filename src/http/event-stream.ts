/**
 * The notifications for one client: a ping at once, then every event, and another ping after each while without events.
 * HTTP and WebSocket share this; each has its own bound for the text that waits for its client.
 */
import { envelope } from '../base/streams/channel.js';
import type { HostLoad } from '../base/host-load.js';

const PING_AFTER_MS = 5000;
/** The pings of a compute have this interval. */
export const COMPUTE_PING_AFTER_MS = 1000;

export interface EventSource {
  /** Subscribes; returns the function that ends the subscription. */
  listen(listener: (event: string) => void): () => void;
  load(): HostLoad;
}

/** Starts to send; returns the function that stops it. */
export function sendEvents(
  source: EventSource,
  send: (event: string) => void,
  pingAfterMs = PING_AFTER_MS,
): () => void {
  const ping = (): void => {
    send(envelope('ping', JSON.stringify(source.load())));
  };
  const timer = setInterval(ping, pingAfterMs);
  const unsubscribe = source.listen((event) => {
    timer.refresh();
    send(event);
  });
  ping();
  return () => {
    clearInterval(timer);
    unsubscribe();
  };
}
