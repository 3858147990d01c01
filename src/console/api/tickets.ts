/** Tickets: addresses that open something once, without credentials. */
import type { TicketShape } from '../../api/shapes/tickets.js';
import type { Call } from './call.js';

/** The path is that of a call, with its query. */
export const createTicket = (path: string): Call<TicketShape> => ({
  method: 'POST',
  path: 'v2/tickets',
  body: { path: `/${path}` },
});
