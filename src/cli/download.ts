/** Downloads an image to a part file, over as many connections as it takes, and verifies its digest. */
import type { IncomingMessage } from 'node:http';
import { CommandError } from './command-error.js';
import { PartFile } from './part-file.js';
import type { ProgressBar } from './progress-bar.js';
import { factsOf, type RemoteFacts, type RemoteImage } from './remote-image.js';
import type { Retries } from './retries.js';
import { Unreachable, type Server } from './server.js';
import type { Hashes } from './source-file.js';

interface DownloadJob {
  readonly server: Server;
  readonly image: RemoteImage;
  readonly target: string;
  readonly bar: ProgressBar;
  readonly retries: Retries;
  readonly signal: AbortSignal;
}

export interface Downloaded {
  readonly digests: Hashes;
  readonly size: number;
  /** How many bytes were there from an earlier try. */
  readonly before: number;
  /** Whether the server had a digest to compare with. */
  readonly isVerified: boolean;
}

export class Download {
  readonly #job: DownloadJob;
  #part: PartFile | undefined;
  #before = 0;

  constructor(job: DownloadJob) {
    this.#job = job;
  }

  /** How many bytes the next try can go on with. */
  get kept(): number {
    return this.#part?.tag === undefined ? 0 : this.#part.size;
  }

  /** `first` are the present facts of the image, and `md5` is from the list of the server. Throws CommandError. */
  async run(first: RemoteFacts, md5: string | undefined): Promise<Downloaded> {
    const { image, bar, retries, signal } = this.#job;
    let facts: RemoteFacts | undefined = first;
    for (;;) {
      try {
        facts ??= await image.facts(signal);
        const part = await this.#partOf(facts, md5);
        if (facts.size === undefined || part.size < facts.size) await this.#fetch(part, facts);
        return await this.#verified(part, facts, first.tag === facts.tag ? md5 : undefined);
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        bar.note(`${error.message}: trying again`);
        retries.reached(this.#part?.size ?? 0);
        await retries.wait(error, signal);
        facts = undefined;
      }
    }
  }

  async publish(): Promise<void> {
    await this.#part?.publish();
  }

  async close(): Promise<void> {
    await this.#part?.close();
  }

  async #partOf({ tag, size }: RemoteFacts, md5: string | undefined): Promise<PartFile> {
    const { target, bar, signal } = this.#job;
    if (this.#part?.tag !== tag) {
      await this.#part?.close();
      this.#part = undefined;
    }
    const isNew = this.#part === undefined;
    if (this.#part === undefined) {
      bar.begin('reading', undefined);
      const onRead = (bytes: number): void => {
        bar.moved(bytes);
      };
      const digests = md5 === undefined ? (['sha256'] as const) : (['sha256', 'md5'] as const);
      this.#part = await PartFile.open({ target, tag, digests }, onRead, signal);
    }
    if (this.#part.size > (size ?? 0) || tag === undefined) this.#part.reset();
    if (isNew) this.#before = this.#part.size;
    return this.#part;
  }

  async #fetch(part: PartFile, facts: RemoteFacts): Promise<void> {
    const { image, server, bar, signal } = this.#job;
    const { tag } = facts;
    const rest = { Range: `bytes=${part.size}-`, 'If-Range': tag ?? '' };
    const response = await image.open(part.size > 0 ? rest : {}, signal);
    const found = factsOf(response);
    if (response.statusCode === 416 || found.tag !== tag) {
      response.destroy();
      throw server.broken(new Error('the image was replaced meanwhile'));
    }
    if (response.statusCode === 206) checkStart(response, part.size, server);
    else {
      part.reset();
      this.#before = 0;
    }
    const total = facts.size ?? found.size;
    bar.begin(image.name, total, part.size);
    for await (const bytes of this.#bytesOf(response)) {
      part.append(bytes);
      bar.moved(bytes.length);
    }
    if (total !== undefined && part.size !== total) throw server.broken(new Error('it ended before its end'));
  }

  async *#bytesOf(response: IncomingMessage): AsyncGenerator<Buffer> {
    try {
      for await (const bytes of response) if (bytes instanceof Buffer) yield bytes;
    } catch (error) {
      throw this.#job.server.broken(error);
    }
  }

  async #verified(part: PartFile, facts: RemoteFacts, md5: string | undefined): Promise<Downloaded> {
    const { server, image } = this.#job;
    const digests = part.digests();
    const sha256 = facts.sha256 ?? (await this.#laterDigest(facts));
    const isSame =
      sha256 === undefined ? md5 === undefined || md5 === digests.md5 : sha256 === digests.sha256;
    if (!isSame) {
      part.reset();
      throw new CommandError(
        `what came of ${image.name} has another digest than ${server.origin} says: it was not kept, pull once more`,
      );
    }
    const isVerified = sha256 !== undefined || md5 !== undefined;
    return { digests, size: part.size, before: this.#before, isVerified };
  }

  /** The server may have computed the digest during the download. */
  async #laterDigest({ tag }: RemoteFacts): Promise<string | undefined> {
    if (tag === undefined) return undefined;
    const { image, signal } = this.#job;
    const now = await image.facts(signal);
    return now.tag === tag ? now.sha256 : undefined;
  }
}

function checkStart({ headers }: IncomingMessage, position: number, server: Server): void {
  const start = /^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1];
  if (start !== undefined && Number(start) === position) return;
  throw new CommandError(`${server.origin} sent another part than was asked for: is that a Wirefarm server?`);
}
