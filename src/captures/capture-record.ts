/** A running capture of a link as the store knows it, and the gap in which no server recorded. */
import { z } from 'zod';
import { captureSettings } from './capture-settings.js';

/** Packets between two moments, in milliseconds since 1970, may be missing. */
export const captureGap = z.object({ from: z.number(), to: z.number() });
export type CaptureGap = z.infer<typeof captureGap>;

/** Older gaps are forgotten. */
export const MOST_GAPS = 100;

export const captureRecord = z.object({
  link_id: z.string(),
  /** As the client gave them, with the name of the file. */
  settings: captureSettings,
  /** In milliseconds since 1970. */
  startedAt: z.number(),
  gaps: z.array(captureGap),
  /** The node of another compute at which the link is captured. */
  node_id: z.string().optional(),
});
export type CaptureRecord = z.infer<typeof captureRecord>;

/** The time that a capture has been there, whichever servers have run it. */
export type CaptureHistory = Pick<CaptureRecord, 'startedAt' | 'gaps'>;

export function withGap(gaps: readonly CaptureGap[], next: CaptureGap): CaptureGap[] {
  return [...gaps, next].slice(-MOST_GAPS);
}

export function shownGap({ from, to }: CaptureGap): { readonly from: string; readonly to: string } {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}
