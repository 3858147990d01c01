/** Numbers of devices that break an engine of the faulty worker when they are inspected. */
export const FAULT = {
  /** It never comes back. */
  spin: 101,
  /** It throws out of its endless task. */
  fail: 102,
  /** It ends its thread. */
  exit: 103,
} as const;

/** While this environment variable is set, threads of the faulty worker fail before they can be given anything. */
export const STILLBORN = 'WIREFARM_TEST_STILLBORN';
