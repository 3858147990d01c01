/**
 * Carries the stream of the server into the FIFO of Wireshark, as fast as that reads. Ends without an error when
 * the stream ends, when Wireshark stops reading, and when it asks to stop (SIGTERM, SIGINT).
 */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { CommandError } from './command-error.js';
import { openFifo, watchReader } from './fifo.js';

export async function carry(open: () => Promise<IncomingMessage>, fifo: string): Promise<void> {
  const stop = new AbortController();
  const onStop = (): void => {
    stop.abort();
  };
  process.once('SIGTERM', onStop);
  process.once('SIGINT', onStop);
  try {
    // Before anything can fail: Wireshark takes what is wrong from us only after the FIFO was opened and closed.
    const sink = await openFifo(fifo, stop.signal);
    const unwatch = watchReader(fifo, onStop);
    try {
      await pipeline(await open(), sink, { signal: stop.signal });
    } finally {
      unwatch();
      sink.destroy();
    }
  } catch (error) {
    if (stop.signal.aborted || isClosedPipe(error)) return;
    if (error instanceof CommandError) throw error;
    throw new CommandError('the connection to the server broke while packets were captured', {
      cause: error,
    });
  }
}

function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
