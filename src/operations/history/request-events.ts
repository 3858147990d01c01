/** The events of requests: who has signed in, or could not, and who has changed what. */
import type { Remember } from '../../lab/history-event.js';

/** A user who comes back to the same address within this time has not signed in anew. */
const SIGNED_IN_MS = 3_600_000;
/** Requests that follow each other so fast are one. */
const NOTED_MS = 60_000;
const MOST_SIGN_INS = 10_000;
/** The pieces of uploads, which come by PATCH, are no changes of their own. */
const CHANGING = new Set(['POST', 'PUT', 'DELETE']);
const UNAUTHORIZED = 401;
const PROJECT = '{project_id}';
const PARAMETER = /^\{.*\}$/;

/** A request that has been answered. */
interface AnsweredRequest {
  readonly method: string;
  readonly caller: { readonly name: string; readonly userId: string | undefined };
  readonly address: string;
  readonly status: number;
  readonly path: string;
  /** The template of its route; undefined when no route was found. */
  readonly template: string | undefined;
  /** The summary of its route. */
  readonly summary: string | undefined;
  readonly body: unknown;
}

interface RequestEventsOptions<Request> {
  readonly remember: Remember;
  /** Called when a user has come to an address anew. */
  readonly signedIn: (request: Request) => void;
  readonly isProject: (id: string) => boolean;
  /** The monotonic clock. */
  readonly now: () => number;
}

export class RequestEvents<Request extends AnsweredRequest> {
  readonly #options: RequestEventsOptions<Request>;
  /** The times of the last requests, by user and address; the one that was first seen longest ago is first. */
  readonly #signIns = new Map<string, number>();

  constructor(options: RequestEventsOptions<Request>) {
    this.#options = options;
  }

  answered(request: Request): void {
    const { remember } = this.#options;
    const { method, status, address, summary, caller } = request;
    if (status === UNAUTHORIZED)
      remember(undefined, { kind: 'sign_in_refused', message: `Credentials from ${address} were refused` });
    if (status === 0 || status >= 400) return;
    this.#noteCaller(request);
    if (summary === undefined || !CHANGING.has(method)) return;
    const { project, subject } = this.#placeOf(request);
    const name = nameIn(request.body);
    const message = name === undefined ? summary : `${summary}: ${name}`;
    remember(project, { kind: 'change', message, subject, user: caller.name });
  }

  #noteCaller(request: Request): void {
    const { caller, address } = request;
    if (caller.userId === undefined) return;
    const { remember, now, signedIn } = this.#options;
    const key = `${caller.userId} ${address}`;
    const time = now();
    const before = this.#signIns.get(key) ?? -Infinity;
    if (time - before < NOTED_MS) return;
    this.#signIns.delete(key);
    this.#signIns.set(key, time);
    if (time - before < SIGNED_IN_MS) return;
    const [oldest] = this.#signIns.keys();
    if (this.#signIns.size > MOST_SIGN_INS && oldest !== undefined) this.#signIns.delete(oldest);
    signedIn(request);
    remember(undefined, { kind: 'signed_in', message: `Came from ${address}`, user: caller.name });
  }

  /** The project of the path, and the id of the object in it. What is done to a project that is gone, or never was one, is of the server. */
  #placeOf({ template = '', path }: AnsweredRequest): { project?: string; subject?: string } {
    const names = template.split('/');
    const parts = path.split('/');
    const project = parts[names.indexOf(PROJECT)];
    const last = names.findLastIndex((name) => PARAMETER.test(name));
    const subject = last < 0 ? {} : { subject: parts[last] ?? '' };
    if (project === undefined || !this.#options.isProject(project)) return subject;
    return names[last] === PROJECT ? { project } : { project, ...subject };
  }
}

/** The name that a client gives to what it makes. */
function nameIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('name' in body)) return undefined;
  return typeof body.name === 'string' ? body.name : undefined;
}
