/** A request that is refused, and what its client is told. */

interface RefusalOptions extends ErrorOptions {
  /** What the body of the answer has besides; this does not cross from a worker thread. */
  readonly details?: Readonly<Record<string, string>>;
  /** When it may be asked again; this does not cross from a worker thread, either. */
  readonly retryAfterSeconds?: number;
}

/** A request that is refused for a reason the client can read. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly status: number,
    message: string,
    { details = {}, retryAfterSeconds, ...options }: RefusalOptions = {},
  ) {
    super(message, options);
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const LONGEST_ECHO = 255;

/** Of what a client has sent, as much as is sent back. */
export function shortened(text: string): string {
  return text.slice(0, LONGEST_ECHO);
}
