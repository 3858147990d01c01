/** Events of the history as they are stored and as clients see them, and the choice among them. */
import { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../lab/history-event.js';

export const rememberedEvent = z.strictObject({
  kind: z.enum(EVENT_KINDS),
  message: z.string(),
  subject: z.string().nullable(),
  /** Equal events of one moment are one with a number. */
  times: z.int().min(1),
  time: z.iso.datetime(),
  user: z.string().nullable(),
});

export type RememberedEvent = z.infer<typeof rememberedEvent>;

/** The events that are asked for. Times are in milliseconds since 1970. */
export interface EventChoice {
  readonly kinds: readonly EventKind[] | undefined;
  readonly since: number;
  readonly until: number;
  /** The newest of them, so many at most. */
  readonly limit: number;
}
