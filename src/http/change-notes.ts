/** Notes of changes, for an audit that has them before they are answered. */
import type { Answer } from './answer.js';
import type { Exchange } from './exchange.js';
import type { BodyLook } from './json-body.js';

export interface ChangeNotes {
  /** Whether a change by this request is noted. */
  isFor(exchange: Exchange): boolean;
  /** Returns what looks at the body of the request before it is parsed. */
  digester(exchange: Exchange): BodyLook;
  /** Makes a change with a note of it. The change is answered when the note is safe. */
  noted(
    exchange: Exchange,
    params: Readonly<Record<string, string>>,
    make: () => Answer | Promise<Answer>,
  ): Promise<Answer>;
  /** Call it when a ticket has opened what the path leads to. */
  ticketUsed(exchange: Exchange, params: Readonly<Record<string, string>>): void;
  /** Call it when the exchange has ended. */
  ended(exchange: Exchange): void;
}
