/** The answers of handlers. */

export type Headers = readonly (readonly [name: string, value: string])[];

export type WholeAnswer =
  | { readonly status: number; readonly json: string; readonly headers?: Headers }
  | { readonly status: number; readonly headers?: Headers };

/** `streamed`: the handler has taken over the response, and streams it. */
export type Answer = WholeAnswer | 'streamed';

/** An answer whose JSON text is ready. */
export function jsonText(status: number, json: string, headers: Headers = []): WholeAnswer {
  return { status, json, headers };
}

export function json(status: number, value: unknown): WholeAnswer {
  return { status, json: JSON.stringify(value) };
}

export function empty(status: number, headers: Headers = []): WholeAnswer {
  return { status, headers };
}
