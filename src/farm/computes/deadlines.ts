/** The time that a compute has for an answer: it may have to start a program for a node. */
export const DEADLINE_MS = { usual: 10_000, node: 60_000 } as const;
