/** Folders that break the loop of the faulty worker when a file is begun in them, or written. */
export const WRITER_FAULT = {
  /** It never comes back. */
  spin: 'spin',
  /** It ends its thread. */
  exit: 'exit',
} as const;
