/**
 * The wish to stop, from a signal, from a client, or from a fault of the server itself, after which nothing can be relied
 * on: it ends in order as far as it can, and with another code. One Ctrl-C in a terminal may arrive twice, because npm
 * passes it on; a later one means that the user will not wait.
 */

const SAME_WISH_MS = 1000;
/** After a fault the end may take so long, and then comes without order. */
const LONGEST_END_MS = 20_000;
const FAULT_CODE = 1;

interface StopSignal {
  /** Resolves at the first wish. */
  readonly requested: Promise<void>;
  readonly begin: () => void;
  /** SIGHUP calls this from now on, unless the server has a terminal, instead of being a wish to stop. */
  readonly reloads: (reload: () => void) => void;
  /** The exit code of the process. */
  readonly exitCode: () => number;
}

/** `onFault` gets every error that was thrown and not caught. */
export function onStopSignal(onFault: (error: unknown) => void): StopSignal {
  let exitCode = 0;
  let begunAt: number | undefined;
  let reload: (() => void) | undefined;
  let resolve: () => void = () => undefined;
  const requested = new Promise<void>((resolver) => {
    resolve = resolver;
  });
  const begin = (): void => {
    begunAt ??= performance.now();
    resolve();
  };
  const signalled = (): void => {
    if (begunAt !== undefined && performance.now() - begunAt > SAME_WISH_MS) process.exit(1);
    begin();
  };
  // Rejections that nobody handles come here, too.
  process.on('uncaughtException', (error) => {
    onFault(error);
    if (exitCode !== FAULT_CODE) setTimeout(() => process.exit(FAULT_CODE), LONGEST_END_MS).unref();
    exitCode = FAULT_CODE;
    begin();
  });
  process.on('SIGTERM', signalled);
  process.on('SIGINT', signalled);
  // A terminal that is closed, or the wish that settings be read again.
  process.on('SIGHUP', () => {
    if (reload === undefined || process.stdin.isTTY) signalled();
    else reload();
  });
  return {
    requested,
    begin,
    exitCode: () => exitCode,
    reloads: (by) => {
      reload = by;
    },
  };
}
