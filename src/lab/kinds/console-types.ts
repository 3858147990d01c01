/** The types of consoles that nodes may have. */
export const CONSOLE_TYPES = ['vnc', 'telnet', 'http', 'https', 'spice', 'spice+agent', 'none'] as const;
export type NodeConsoleType = (typeof CONSOLE_TYPES)[number];
