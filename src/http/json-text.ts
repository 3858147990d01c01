/** Reading a JSON request body that may be anything. */
import { Refusal } from '../base/errors/errors.js';
import { nestingOf } from '../base/errors/validation.js';

/** Far deeper than any client nests; what is deeper would overflow the stack of whoever walks it. */
const DEEPEST = 64;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** A body that is no JSON; `text` is what the client is shown of it. */
export class MalformedJson extends Refusal {
  constructor(
    reason: string,
    readonly text: string,
  ) {
    super(400, 'json_malformed', `Invalid JSON ${reason}`);
  }
}

/** An empty body counts as an empty object. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  const text = decode(bytes);
  if (nestingOf(text) > DEEPEST) throw new MalformedJson(`nested deeper than ${DEEPEST} levels`, text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new MalformedJson(error instanceof Error ? error.message : String(error), text);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new MalformedJson('that is not UTF-8', Buffer.from(bytes).toString('latin1'));
  }
}
