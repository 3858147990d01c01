interface RefusalOptions extends ErrorOptions {
  /** Further keys of the error body. They do not cross from a worker thread. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The client may ask again after so long. This does not cross from a worker thread, either. */
  readonly retryAfterSeconds?: number;
}

/** A part of what a client sent that is wrong. */
export interface Fault {
  /** The keys and positions that lead to the part. */
  readonly path: readonly (string | number)[];
  readonly reason: string;
}

/** A request is refused for a reason that the client can read, and that programs tell by its code. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly status: number,
    /** Lower case with underscores; it never changes, whereas the message may. */
    readonly code: string,
    message: string,
    { details = {}, retryAfterSeconds, ...options }: RefusalOptions = {},
  ) {
    super(message, options);
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const LONGEST_ECHO = 255;

/** Cuts off long text that a client has sent, before it is sent back. */
export function shortened(text: string): string {
  return text.slice(0, LONGEST_ECHO);
}
