/** Work that the user may end early: Ctrl-C, and what a system that shuts down sends. A second one ends the process. */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const stop = new AbortController();
  const onStop = (): void => {
    stop.abort();
  };
  process.once('SIGINT', onStop);
  process.once('SIGTERM', onStop);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', onStop);
    process.off('SIGTERM', onStop);
  }
}
