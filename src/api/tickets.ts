/** Tickets for programs that can be given a URL and no credentials. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import type { Gate } from '../http/gate.js';
import { checkAccess } from '../http/route-access.js';
import { route, type Route, type RouteTable } from '../http/route.js';
import { Router } from '../http/router.js';
import { takesTickets, TICKET_MS } from '../http/tickets.js';
import { nothing } from './schemas.js';
import { ticket } from './shapes/tickets.js';

const PATH = /^\/[\x21\x22\x24-\x7e]*$/;
const newTicket = z.strictObject({
  path: z.string().max(2000).regex(PATH, 'must be a path of this server, as it stands in a URL'),
});

/** `table` is asked for when the first ticket is. */
export function ticketRoutes(gate: Gate, table: () => RouteTable): Route[] {
  let router: Router | undefined;
  return [
    route({
      method: 'POST',
      path: '/v2/tickets',
      tag: 'Users',
      access: 'signed in',
      summary:
        'Make a URL that opens a capture or a console once within 30 seconds, with the rights of its maker',
      params: nothing,
      body: newTicket,
      answers: { 201: ticket },
      handle: ({ body, exchange }) => {
        const [path, query] = split(body.path);
        const target = query === '' ? path : `${path}?${query}`;
        router ??= new Router(table());
        const { endpoint, params } = router.match(path) ?? {};
        const reads = endpoint?.methods.get('GET');
        const access = (reads ?? endpoint?.socket)?.access;
        if (access === undefined || !takesTickets(access) || HAS_TICKET.test(query))
          throw refusals.ticketPath();
        checkAccess(exchange.caller, access, params ?? {});
        const { id, secret } = gate.tickets.issue(exchange.caller, target);
        const origin = gate.originFor(exchange);
        const address = reads === undefined ? origin.replace(/^http/, 'ws') : origin;
        const url = `${address}${target}${query === '' ? '?' : '&'}ticket=${secret}`;
        return json(201, { ticket_id: id, url, expires_in: TICKET_MS / 1000 });
      },
    }),
  ];
}

const HAS_TICKET = /(?:^|&)ticket=/;

function split(target: string): readonly [path: string, query: string] {
  const end = target.indexOf('?');
  return end === -1 ? [target, ''] : [target.slice(0, end), target.slice(end + 1)];
}
