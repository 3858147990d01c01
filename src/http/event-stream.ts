/**
 * Notifications on their way to one client: a ping at once, then every event, and a ping whenever there was
 * none for a while. The same for both transports; each bounds by itself what waits for its client.
 */
import { envelope, type Listener } from '../base/streams/channel.js';
import type { HostLoad } from '../base/host-load.js';

const PING_AFTER_MS = 5000;
/** Of the stream of a compute. */
export const COMPUTE_PING_AFTER_MS = 1000;

export interface EventSource {
  /** Subscribes; returns the end of the subscription. */
  listen(listener: Listener): () => void;
  load(): HostLoad;
}

/** Starts to send; returns how to stop. */
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
