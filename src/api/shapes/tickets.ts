/** How tickets look in answers. The console takes its type from here. */
import { z } from 'zod';

export const ticket = z.strictObject({
  ticket_id: z.uuid(),
  /** It opens the path once, without credentials. */
  url: z.string(),
  expires_in: z.int(),
});
export type TicketShape = z.output<typeof ticket>;
