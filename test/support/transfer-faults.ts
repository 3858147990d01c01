/** Orders that break the loop of the faulty worker when a slab begins with them. */
export const TRANSFER_FAULT = {
  /** It never comes back. */
  spin: 'spin!',
  /** It ends its thread. */
  exit: 'exit!',
  /** It ends its thread if that digests beside another. */
  exitBeside: 'beside!',
} as const;
