/** Calls of the public interface, as values: they are sent, or shown as a line for curl. */
import { signal } from '@preact/signals';

/** A request, and the type of its answer. Paths are relative, so that the console works behind any proxy. */
export interface Call<Answer> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The type of the answer, for the compiler. There is never a value. */
  readonly answer?: Answer;
}

/** The server has refused a call; its message is the server's sentence. */
export class RefusedCall extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The server did not answer. */
export class UnansweredCall extends Error {}

/** The server had not answered when this long was over. Nothing was changed. */
export class LateAnswer extends UnansweredCall {}

const LONGEST_READ_MS = 60_000;

/** Counts the calls that were refused because nobody is signed in. */
export const signOuts = signal(0);

/** They say that the console asks, which shows its own page where others are asked for a password. */
export const OWN_HEADERS = { 'X-Wirefarm-Client': 'console' };

export async function send<Answer>({ method, path, body }: Call<Answer>): Promise<Answer> {
  if (method === 'GET')
    return inTime(async (signal) => read(await answerOf(path, { headers: OWN_HEADERS, signal })));
  const init: RequestInit =
    body === undefined
      ? { method, headers: OWN_HEADERS }
      : {
          method,
          headers: { ...OWN_HEADERS, 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        };
  return read<Answer>(await answerOf(path, init));
}

/** Sends a file as it is. */
export async function sendBytes<Answer>(
  call: Call<Answer>,
  bytes: Blob,
  signal: AbortSignal,
): Promise<Answer> {
  return read<Answer>(
    await answerOf(call.path, { method: call.method, headers: OWN_HEADERS, body: bytes, signal }),
  );
}

/** Reads an answer that is text. */
export function sendForText(path: string): Promise<string> {
  return inTime(async (signal) => {
    const reply = await answerOf(path, { headers: OWN_HEADERS, signal });
    if (!reply.ok) await read(reply);
    return reply.text();
  });
}

/** Reads lines of JSON as they come, until the end or the signal. */
export async function sendForLines(
  path: string,
  signal: AbortSignal,
  onLine: (line: unknown) => void,
): Promise<void> {
  const reply = await answerOf(path, { method: 'GET', headers: OWN_HEADERS, signal });
  if (!reply.ok || reply.body === null) await read(reply);
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read()) {
    const lines = (rest + piece.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(JSON.parse(line));
  }
}

/** A UUID, also where a page without TLS gets none of the browser. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Gives a question up that has no answer after a minute, so that nobody waits for ever. */
async function inTime<Answer>(ask: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const leave = new AbortController();
  const timer = setTimeout(() => leave.abort(), LONGEST_READ_MS);
  try {
    return await ask(leave.signal);
  } catch (error) {
    throw leave.signal.aborted ? new LateAnswer('', { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

async function answerOf(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    throw new UnansweredCall('', { cause: error });
  }
}

async function read<Answer>(reply: Response): Promise<Answer> {
  const text = await reply.text();
  if (reply.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer;
  const refusal = refusalOf(reply.status, text);
  if (refusal.status === 401) signOuts.value++;
  throw refusal;
}

/** A proxy between may answer with something else than the server's refusal. */
function refusalOf(status: number, text: string): RefusedCall {
  try {
    const { code, message } = JSON.parse(text) as { code?: unknown; message?: unknown };
    if (typeof code === 'string' && typeof message === 'string')
      return new RefusedCall(status, code, message);
  } catch {
    // The sentence below says as much as is known.
  }
  return new RefusedCall(status, '', `HTTP ${status}`);
}

/** The line for a terminal that does the same. */
export function curlLine({ method, path, body }: Call<unknown>): string {
  const url = new URL(path, document.baseURI).href;
  const verb = method === 'GET' ? '' : ` -X ${method}`;
  const data = body === undefined ? '' : ` --json ${quoted(JSON.stringify(body))}`;
  return `curl${verb}${data} ${quoted(url)}`;
}

/** The text as one word of a shell, whatever it is. */
export function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A segment of a path. */
export function segment(name: string): string {
  return encodeURIComponent(name);
}
