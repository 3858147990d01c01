/** While HTTP stands in for a WebSocket: looks now and then whether one passes after all, such as after a restart of the server. */

const FIRST_REST_MS = 2000;
const LONGEST_REST_MS = 300_000;

/** Looks at growing intervals until one opens, of which it tells once, or until the signal. */
export function watchForSocket(url: () => string, signal: AbortSignal, onOpen: () => void): void {
  let restMs = FIRST_REST_MS;
  const look = (): void => {
    if (signal.aborted) return;
    const socket = new WebSocket(url());
    socket.onopen = (): void => {
      socket.onclose = null;
      socket.close();
      if (!signal.aborted) onOpen();
    };
    socket.onclose = lookLater;
  };
  const lookLater = (): void => {
    setTimeout(look, restMs);
    restMs = Math.min(2 * restMs, LONGEST_REST_MS);
  };
  lookLater();
}
