/** Frames of text on the WebSocket of a console with `news=yes`. The console takes its types from here. */
import { z } from 'zod';

const MOST_CELLS = 10_000;

/** A frame of the client: the size of its window. */
export const consoleOrder = z.strictObject({
  columns: z.int().min(1).max(MOST_CELLS),
  rows: z.int().min(1).max(MOST_CELLS),
});
export type ConsoleOrderShape = z.output<typeof consoleOrder>;

/** A frame of the server: whether something takes what is typed, and who is here beside the client. */
export interface ConsoleNewsShape {
  readonly running: boolean;
  readonly others: readonly { readonly name: string; readonly mode: 'use' | 'watch' }[];
}
