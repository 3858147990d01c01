/** An image on a server, which may be one of GNS3: that supports neither HEAD nor ranges. */
import type { IncomingMessage } from 'node:http';
import { CommandError } from './command-error.js';
import type { Server } from './server.js';

export type ImageEmulator = 'qemu' | 'iou' | 'dynamips';

/** The facts of one version of an image on the server. */
export interface RemoteFacts {
  readonly size: number | undefined;
  /** Identifies this version; undefined if the server does not identify versions. */
  readonly tag: string | undefined;
  /** In lower-case hexadecimal; undefined until the server knows it. */
  readonly sha256: string | undefined;
}

/** The server has no image of this name, or does not show it. */
export class ImageMissing extends CommandError {
  override readonly name = 'ImageMissing';
}

const MISSING = [403, 404, 409];

export class RemoteImage {
  readonly emulator: ImageEmulator;
  readonly name: string;
  readonly path: string;
  readonly #server: Server;

  constructor(server: Server, emulator: ImageEmulator, name: string) {
    this.emulator = emulator;
    this.name = name;
    this.#server = server;
    this.path = `${listPath(emulator)}/${name.split('/').map(encodeURIComponent).join('/')}`;
  }

  /** Throws ImageMissing. */
  async facts(signal: AbortSignal): Promise<RemoteFacts> {
    const head = await this.#server.ask(this.path, { method: 'HEAD', signal });
    head.destroy();
    if (head.statusCode === 200) return factsOf(head);
    // The answer to a HEAD has no reason in it, and a server of GNS3 refuses every HEAD.
    const response = await this.open({}, signal);
    response.destroy();
    return factsOf(response);
  }

  /** The content, or the range of it that the headers ask for. Throws ImageMissing. */
  async open(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#server.ask(this.path, { method: 'GET', headers, signal });
    const status = response.statusCode ?? 0;
    if (status === 200 || status === 206 || status === 416) return response;
    const refusal = await this.#server.refusal(response);
    if (status >= 500) throw this.#server.broken(refusal);
    throw MISSING.includes(status) ? new ImageMissing(refusal.message) : refusal;
  }

  /** The MD5 in the list of the server, for an image of this size. */
  async md5(size: number | undefined, signal: AbortSignal): Promise<string | undefined> {
    const list = await this.#server.slowList(listPath(this.emulator), signal);
    const isThis = (entry: Readonly<Record<string, unknown>>): boolean =>
      entry['path'] === this.name && (size === undefined || entry['filesize'] === size);
    const md5 = list?.find(isThis)?.['md5sum'];
    return typeof md5 === 'string' && /^[0-9a-f]{32}$/i.test(md5) ? md5.toLowerCase() : undefined;
  }
}

function listPath(emulator: ImageEmulator): string {
  return `/v2/compute/${emulator}/images`;
}

export function factsOf({ headers }: IncomingMessage): RemoteFacts {
  const { etag, 'content-length': length } = headers;
  const digest = headers['repr-digest'];
  return {
    size: length === undefined ? undefined : Number(length),
    tag: etag?.startsWith('"') === true ? etag : undefined,
    sha256: typeof digest === 'string' ? sha256Of(digest) : undefined,
  };
}

/** The SHA-256 in a header Repr-Digest (RFC 9530). */
function sha256Of(header: string): string | undefined {
  const found = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/.exec(header)?.[1];
  return found === undefined ? undefined : Buffer.from(found, 'base64').toString('hex');
}

export function reprDigest(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
}
