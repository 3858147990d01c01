/**
 * The wish to stop, from a signal or from a client. One Ctrl-C in a terminal may arrive twice, because npm
 * passes it on; a later one means that the user will not wait.
 */

const SAME_WISH_MS = 1000;

export interface StopSignal {
  /** Resolves at the first wish. */
  readonly requested: Promise<void>;
  readonly begin: () => void;
}

export function onStopSignal(): StopSignal {
  let begunAt: number | undefined;
  let resolve: () => void = () => undefined;
  const requested = new Promise<void>((resolver) => {
    resolve = resolver;
  });
  const begin = (): void => {
    begunAt ??= Date.now();
    resolve();
  };
  const signalled = (): void => {
    if (begunAt !== undefined && Date.now() - begunAt > SAME_WISH_MS) process.exit(1);
    begin();
  };
  process.on('SIGTERM', signalled);
  process.on('SIGINT', signalled);
  return { requested, begin };
}
