/** The answers of handlers. */

export type Headers = readonly (readonly [name: string, value: string])[];

/** JSON as text, or as bytes that nobody changes any more. */
type JsonText = string | Uint8Array;

export type WholeAnswer =
  | { readonly status: number; readonly json: JsonText; readonly headers?: Headers }
  | { readonly status: number; readonly headers?: Headers };

/** `streamed`: the handler has taken over the response, and streams it. */
export type Answer = WholeAnswer | 'streamed';

/** An answer whose JSON text is ready. */
export function jsonText(status: number, json: JsonText, headers: Headers = []): WholeAnswer {
  return { status, json, headers };
}

export function json(status: number, value: unknown): WholeAnswer {
  return { status, json: JSON.stringify(value) };
}

export function empty(status: number, headers: Headers = []): WholeAnswer {
  return { status, headers };
}
