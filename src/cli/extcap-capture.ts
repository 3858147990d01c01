/**
 * Copies the stream of the server to the FIFO of Wireshark, as fast as that reads. Ends without an error when the stream
 * ends, when Wireshark stops reading, and when it asks to stop (SIGTERM, SIGINT).
 */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { CommandError } from './command-error.js';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export async function carry(open: () => Promise<IncomingMessage>, fifo: string): Promise<void> {
  const stop = new AbortController();
  const onStop = (): void => {
    stop.abort();
  };
  process.once('SIGTERM', onStop);
  process.once('SIGINT', onStop);
  try {
    // Opened before anything can fail: Wireshark shows an error only after the FIFO was opened and closed.
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

const READER_LIMIT_MS = 20_000;
const BETWEEN_TRIES_MS = 20;
const BETWEEN_LOOKS_MS = 1000;

/**
 * Opens the writing end of a FIFO when it has a reader. The calls of `open` do not wait for the reader, because such a
 * call cannot be cancelled and would keep the process from ending.
 */
export async function openFifo(path: string, signal: AbortSignal): Promise<Socket> {
  for (let waited = 0; waited < READER_LIMIT_MS; waited += BETWEEN_TRIES_MS) {
    const descriptor = tryOpen(path);
    if (descriptor !== undefined) {
      if (fstatSync(descriptor).isFIFO())
        return new Socket({ fd: descriptor, readable: false, writable: true });
      closeSync(descriptor);
      throw new CommandError(`${path} is no FIFO: mkfifo makes one`);
    }
    await pause(BETWEEN_TRIES_MS, undefined, { signal });
  }
  throw new CommandError(`nobody reads from ${path}`);
}

/**
 * Checks once a second that the FIFO has a reader. Writes would tell, too, but a link may be silent for hours. Returns a
 * function that stops the checks.
 */
export function watchReader(path: string, onGone: () => void): () => void {
  const timer = setInterval(() => {
    if (!hasReader(path)) onGone();
  }, BETWEEN_LOOKS_MS);
  return () => {
    clearInterval(timer);
  };
}

function hasReader(path: string): boolean {
  try {
    const descriptor = tryOpen(path);
    if (descriptor === undefined) return false;
    closeSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

/** Undefined while the FIFO has no reader. */
function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && 'code' in error) {
      if (error.code === 'ENXIO') return undefined;
      throw new CommandError(`cannot open the FIFO ${path} (${String(error.code)})`, { cause: error });
    }
    throw error;
  }
}
