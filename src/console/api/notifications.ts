/** The events of the server: of labs that come, go, open and close, of jobs and of uploads. */
import { liveSocket } from './live-socket.js';

interface ServerEvent {
  readonly action: string;
  readonly event: unknown;
}

type EventListener = (event: ServerEvent) => void;

const listeners = new Set<EventListener>();

/** Begins to listen to the server. Returns the function that ends it. */
export function listenToServer(onState: (isOpen: boolean) => void): () => void {
  return liveSocket({
    path: 'v2/notifications/ws',
    onState,
    onFrame: (frame) => {
      for (const listener of listeners) listener(frame as ServerEvent);
    },
  });
}

/** Returns the function that ends it. */
export function onServerEvent(listener: EventListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
