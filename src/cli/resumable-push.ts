/**
 * Sends a file by the resumable protocol (tus 1.0), and goes on with the upload of an earlier try. Only the server knows
 * how much has arrived safely, so it is asked after every broken connection.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError } from './command-error.js';
import type { ProgressBar } from './progress-bar.js';
import type { RemoteImage } from './remote-image.js';
import type { Retries } from './retries.js';
import { Unreachable, WORK_LIMIT_MS, type Server } from './server.js';
import type { SourceFile } from './source-file.js';

const UPLOADS = '/v2/uploads';
const VERSION = { 'Tus-Resumable': '1.0.0' };
const CHECKSUM_MISMATCH = 460;
const GONE = [404, 410];
/** The server or a proxy is not ready, or another request came first: worth another try. */
const PASSING = [408, 409, 423, 500, 502, 503, 504];
/** A sender that is alive sends something within this time. */
const LOOK_AGAIN_MS = 1500;

interface PushContext {
  readonly server: Server;
  readonly image: RemoteImage;
  readonly file: SourceFile;
  readonly sha256: string;
  readonly bar: ProgressBar;
  readonly retries: Retries;
  readonly signal: AbortSignal;
}

export class ResumablePush {
  readonly #push: PushContext;
  readonly #metadata: string;
  /** The path of the upload on the server, if there is one. */
  #path: string | undefined;
  #hasLooked = false;

  constructor(push: PushContext) {
    this.#push = push;
    const { emulator, name } = push.image;
    const pairs = Object.entries({ filename: name, emulator, sha256: push.sha256 });
    this.#metadata = pairs.map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`).join(',');
  }

  /**
   * Returns how many bytes the server had already; undefined if it has no resumable uploads. Throws CommandError if the
   * file cannot be sent.
   */
  async send(): Promise<number | undefined> {
    const { file, retries, bar, signal } = this.#push;
    let before: number | undefined;
    for (;;) {
      try {
        if (!this.#hasLooked && !(await this.#look())) return undefined;
        const offset = await this.#begin();
        before ??= offset;
        retries.reached(offset);
        // A complete upload has landed.
        if (offset === file.size || (await this.#sendRest(offset))) return before;
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        bar.note(`${error.message}: trying again`);
        await retries.wait(error, signal);
      }
    }
  }

  /** Looks for the upload of an earlier try. Returns false if the server has no resumable uploads. */
  async #look(): Promise<boolean> {
    const { server, signal } = this.#push;
    const list = await server.slowList(UPLOADS, signal);
    if (list === undefined) return false;
    for (const entry of list.filter((entry) => this.#isAlike(entry))) {
      const path = `${UPLOADS}/${encodeURIComponent(String(entry['upload_id']))}`;
      if (!(await this.#isOfThisContent(path))) continue;
      if (entry['state'] === 'receiving') await this.#checkAbandoned(entry);
      this.#path = path;
      break;
    }
    this.#hasLooked = true;
    return true;
  }

  #isAlike(entry: Readonly<Record<string, unknown>>): boolean {
    const { image, file } = this.#push;
    return (
      entry['protocol'] === 'tus' &&
      entry['state'] !== 'finished' &&
      entry['emulator'] === image.emulator &&
      entry['filename'] === image.name &&
      entry['size'] === file.size
    );
  }

  /** Uses GET, because a HEAD would end a request that is sending. */
  async #isOfThisContent(path: string): Promise<boolean> {
    const { server, signal } = this.#push;
    const shown = await server.ask(path, { method: 'GET', headers: VERSION, signal });
    shown.destroy();
    return headerOf(shown, 'upload-metadata')
      .split(',')
      .includes(this.#metadata.split(',').at(-1) ?? '');
  }

  /** Throws if the upload still grows: two senders would take it from each other again and again. */
  async #checkAbandoned(seen: Readonly<Record<string, unknown>>): Promise<void> {
    const { server, image, signal } = this.#push;
    await pause(LOOK_AGAIN_MS, undefined, { signal });
    const list = await server.slowList(UPLOADS, signal);
    const now = list?.find((entry) => entry['upload_id'] === seen['upload_id']);
    if (now?.['state'] !== 'receiving' || now['received'] === seen['received']) return;
    throw new CommandError(`${image.name} is being sent by somebody else at this moment`);
  }

  /** Returns the offset from which the server wants the file. */
  async #begin(): Promise<number> {
    const known = this.#path === undefined ? undefined : await this.#offset(this.#path);
    if (known !== undefined) return known;
    this.#path = await this.#create();
    return 0;
  }

  /** Undefined when the upload has gone. */
  async #offset(path: string): Promise<number | undefined> {
    const answer = await this.#ask('HEAD', path, {});
    const status = answer.statusCode ?? 0;
    if (GONE.includes(status)) {
      answer.destroy();
      return undefined;
    }
    if (status !== 200 && status !== 204) throw await this.#refusal(answer);
    return this.#offsetIn(answer);
  }

  async #create(): Promise<string> {
    const { file } = this.#push;
    const headers = { 'Upload-Length': String(file.size), 'Upload-Metadata': this.#metadata };
    const answer = await this.#ask('POST', UPLOADS, headers);
    if (answer.statusCode !== 201) throw await this.#push.server.refusal(answer);
    answer.destroy();
    const location = headerOf(answer, 'location');
    const base = `${this.#push.server.origin}${UPLOADS}`;
    if (location === '' || !URL.canParse(location, base)) throw this.#unlike('no Location');
    // Only the path is used: the server may not know the address by which it is reached through a proxy.
    const { pathname, search } = new URL(location, base);
    return pathname + search;
  }

  /** Returns true when the server has the whole file. */
  async #sendRest(offset: number): Promise<boolean> {
    const { file, bar, image } = this.#push;
    bar.begin(image.name, file.size, offset);
    const headers = {
      'Content-Type': 'application/offset+octet-stream',
      'Upload-Offset': String(offset),
      'Content-Length': String(file.size - offset),
    };
    const onRead = (bytes: number): void => {
      bar.moved(bytes);
    };
    const answer = await this.#ask('PATCH', this.#path ?? '', headers, file.bytes(offset, onRead));
    if (answer.statusCode !== 204) throw await this.#refusal(answer);
    return this.#offsetIn(answer) === file.size;
  }

  #offsetIn(answer: IncomingMessage): number {
    answer.destroy();
    const offset = Number(headerOf(answer, 'upload-offset') || NaN);
    const isSound = Number.isSafeInteger(offset) && offset >= 0 && offset <= this.#push.file.size;
    if (!isSound) throw this.#unlike('no Upload-Offset');
    return offset;
  }

  async #refusal(answer: IncomingMessage): Promise<CommandError> {
    const { server, file } = this.#push;
    const refused = await server.refusal(answer);
    const status = answer.statusCode ?? 0;
    if (status === CHECKSUM_MISMATCH) {
      await file.checkSame();
      return new CommandError(
        `what arrived at ${server.origin} has another digest than ${file.path}: it was not kept, push once more`,
        { cause: refused },
      );
    }
    if (!PASSING.includes(status) && !GONE.includes(status)) return refused;
    return new Unreachable(refused.message, `${status}: ${refused.message}`, { cause: refused });
  }

  #unlike(what: string): CommandError {
    return new CommandError(`${this.#push.server.origin} answered with ${what}: is that a Wirefarm server?`);
  }

  #ask(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: AsyncIterable<Uint8Array>,
  ): Promise<IncomingMessage> {
    const { server, signal } = this.#push;
    const sending = body === undefined ? {} : { body };
    // Even a HEAD may take long: it lands a complete upload, which the server reads once more for that.
    const question = { method, headers: { ...VERSION, ...headers }, workMs: WORK_LIMIT_MS, signal };
    return server.ask(path, { ...question, ...sending });
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}
