/** Messages between a page with several terminals and its terminals. Both are documents of this server. */

/** A message of the page. */
export type TileOrder =
  /** Somebody has typed this into another terminal, for all. */
  | { readonly do: 'type'; readonly text: string }
  /** Whether what is typed is to be reported; the number of terminals that get it. */
  | { readonly do: 'share'; readonly among: number };

/** A message of the terminal. */
type TileReport =
  | { readonly is: 'ready' | 'left' | 'closed' }
  | { readonly is: 'typed'; readonly text: string };

export const isTile = window.parent !== window;

export function report(message: TileReport): void {
  if (isTile) window.parent.postMessage(message, location.origin);
}

/** Returns the function that ends it. */
export function onOrder(listener: (order: TileOrder) => void): () => void {
  return onMessage((data, source) => {
    if (isTile && source === window.parent) listener(data as TileOrder);
  });
}

/** Returns the function that ends it. */
export function onReport(listener: (report: TileReport, from: MessageEventSource) => void): () => void {
  return onMessage((data, source) => {
    if (source !== null) listener(data as TileReport, source);
  });
}

function onMessage(listener: (data: unknown, source: MessageEventSource | null) => void): () => void {
  const take = ({ origin, data, source }: MessageEvent<unknown>): void => {
    if (origin === location.origin) listener(data, source);
  };
  addEventListener('message', take);
  return () => removeEventListener('message', take);
}
