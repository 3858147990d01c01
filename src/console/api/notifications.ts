/** The events of the server: of labs that come, go, open and close, of jobs and of uploads. */
import { linesOf, liveSocket, type LiveWay } from './live-socket.js';

interface ServerEvent {
  readonly action: string;
  readonly event: unknown;
}

type EventListener = (event: ServerEvent) => void;

const listeners = new Set<EventListener>();

/** Begins to listen to the server. Returns the function that ends it. */
export function listenToServer(onState: (isOpen: boolean, way: LiveWay) => void): () => void {
  const onFrame = (frame: unknown): void => {
    for (const listener of listeners) listener(frame as ServerEvent);
  };
  return liveSocket({
    path: 'v2/notifications/ws',
    onState,
    onFrame,
    otherwise: linesOf(() => 'v2/notifications', onFrame),
  });
}

/** Returns the function that ends it. */
export function onServerEvent(listener: EventListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
