/** The audit of requests: changes are noted before they are made, and what was refused is told. */
import { hash } from 'node:crypto';
import type { AuditEntry } from '../lab/audit/audit-entry.js';
import type { Audit } from '../lab/audit/audit.js';
import { isStored, type AuditNote } from '../lab/audit/audit-notes.js';
import type { Answer } from '../http/answer.js';
import type { ChangeNotes } from '../http/change-notes.js';
import { mayHaveSecrets, withoutSecrets } from '../http/error-body.js';
import type { Exchange } from '../http/exchange.js';
import type { BodyLook } from '../http/json-body.js';

const REFUSED = new Set([401, 403]);
const CREATED = 201;
const LONGEST_VALUE = 200;
const LONGEST_ADDRESS = 64;
/** The first user makes a server one with accounts: changes of accounts are always noted. */
const SIGN_IN = '/v2/session';
const ACCOUNTS = /^\/v2\/(?:users|tokens|session)\b/;
const ID = '[0-9a-fA-F-]{8,36}';

type Params = Readonly<Record<string, string>>;
type RequestKind = Extract<AuditEntry['kind'], 'change' | 'refused' | 'sign_in' | 'ticket'>;

export class RequestAudit implements ChangeNotes {
  readonly #audit: Audit;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  isFor({ template = '' }: Exchange): boolean {
    return this.#audit.isOn || ACCOUNTS.test(template);
  }

  digester(exchange: Exchange): BodyLook {
    return (bytes, text, value) => {
      exchange.bodyDigest = hash('sha256', mayHaveSecrets(text) ? shown(bytes, value) : bytes);
    };
  }

  async noted(exchange: Exchange, params: Params, make: () => Answer | Promise<Answer>): Promise<Answer> {
    const isSignIn = exchange.method === 'POST' && exchange.template === SIGN_IN;
    const note = this.#audit.begin(this.#entryOf(isSignIn ? 'sign_in' : 'change', exchange, params));
    if (note === undefined) return make();
    const end = (): void => {
      this.#end(note, exchange);
    };
    // Nobody waits for an answer when the client has gone before.
    if (exchange.isGone) end();
    else exchange.endNote = end;
    const answer = await make();
    exchange.made = idsIn(answer, exchange.template ?? '');
    if (!isStored(note)) await this.#audit.secured(note);
    return answer;
  }

  ended(exchange: Exchange): void {
    // The server that has answered it tells of it.
    if (exchange.owner !== undefined) return;
    if (exchange.endNote !== undefined) exchange.endNote();
    else if (REFUSED.has(exchange.status) && this.#audit.isOn)
      this.#audit.tell(this.#entryOf('refused', exchange, {}), exchange.status);
  }

  /** It is told at once: what a ticket opens may go on for days. */
  ticketUsed(exchange: Exchange, params: Params): void {
    const { ticketId } = exchange;
    if (this.#audit.isOn && ticketId !== undefined)
      this.#audit.tell(this.#entryOf('ticket', exchange, { ...params, ticket_id: ticketId }), null);
  }

  /** A user has come to an address from which that one had not come for a while. */
  readonly signedIn = (exchange: Exchange): void => {
    if (this.#audit.isOn) this.#audit.tell(this.#entryOf('sign_in', exchange, {}), exchange.status);
  };

  #end(note: AuditNote, { status, caller, made: ids }: Exchange): void {
    const isNew = note.userId !== (caller.userId ?? null);
    const signedIn = isNew ? { user: caller.name, user_id: caller.userId ?? null } : undefined;
    this.#audit.end(note, { status: status === 0 ? null : status, ids, signedIn });
  }

  #entryOf(kind: RequestKind, exchange: Exchange, params: Params): AuditEntry {
    const { caller } = exchange;
    return {
      time: this.#audit.timeText(),
      req: exchange.id,
      kind,
      user: caller.name,
      user_id: caller.userId ?? null,
      token: caller.tokenId ?? null,
      address: exchange.address.slice(0, LONGEST_ADDRESS),
      method: exchange.method.slice(0, LONGEST_ADDRESS),
      route: exchange.template ?? null,
      ids: shortened(params),
      body: exchange.bodyDigest ?? null,
    };
  }
}

function shortened(params: Params): Params {
  let isLong = false;
  for (const name in params) isLong ||= (params[name] ?? '').length > LONGEST_VALUE;
  if (!isLong) return params;
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, value.slice(0, LONGEST_VALUE)]),
  );
}

/** The body as it came, or without its secrets. */
function shown(bytes: Uint8Array, value: unknown): Uint8Array | string {
  const safe = withoutSecrets(value);
  return safe === value ? bytes : JSON.stringify(safe);
}

/** The id of what a request has made: that of its resource, and that of its project. */
function idsIn(answer: Answer, template: string): Params {
  if (answer === 'streamed' || answer.status !== CREATED || !('json' in answer)) return {};
  const { json } = answer;
  // Bytes are lists, which nobody has made by asking for them.
  if (typeof json !== 'string') return {};
  const resource = template.split('/').findLast((part) => !part.startsWith('{')) ?? '';
  const names = new Set([`${resource.replace(/s$/, '')}_id`, 'project_id']);
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const [, id] = new RegExp(`"${name}": ?"(${ID})"`).exec(json) ?? [];
      return id === undefined ? [] : [[name, id]];
    }),
  );
}
