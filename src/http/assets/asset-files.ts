/**
 * The files of the console, in memory from their first use on. A build has made each in three forms: as it is, in brotli
 * and in gzip. Documents are asked for again each time; the names of all others have the digest of their content.
 */
import { extname } from 'node:path';
import { empty, type Answer, type Headers } from '../answer.js';
import type { Exchange } from '../exchange.js';
import type { FileThreads } from '../file-source.js';
import { acceptsCoding } from '../gzipped-files.js';
import { listsTag } from '../headers.js';
import { bytesSource } from '../streams/sized-response.js';

interface Asset {
  readonly version: string;
  readonly bytes: Uint8Array;
}

interface Form {
  /** The value of `Content-Encoding`. */
  readonly coding: string | undefined;
  readonly suffix: string;
}

/** The request headers that decide how a file is sent. */
export const ASSET_HEADERS = ['accept-encoding', 'if-none-match'] as const;

const PLAIN: Form = { coding: undefined, suffix: '' };
/** The best one comes first. */
const PACKED: readonly Form[] = [
  { coding: 'br', suffix: '.br' },
  { coding: 'gzip', suffix: '.gz' },
];

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** Scripts of workers have a policy of their own: they may call this server. */
const WORKER = /-worker-\w+\.js$/;
const WORKER_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'";

/** Rules for a document: the sources from which it may load. */
type DocumentPolicy = Readonly<Record<string, string>>;

const POLICY: DocumentPolicy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' blob:",
  'connect-src': "'self'",
  'worker-src': "'self'",
  'frame-src': "'self'",
  'frame-ancestors': "'self'",
  'base-uri': "'none'",
  'form-action': "'self'",
};

const COMMON: Headers = [
  ['Vary', 'Accept-Encoding, Origin'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
];

export class AssetFiles {
  readonly #folder: string;
  readonly #files: FileThreads;
  /** By name, with the suffix of the form. Files of a build do not change, and there are not many. */
  readonly #loaded = new Map<string, Promise<Asset>>();

  constructor(folder: string, files: FileThreads) {
    this.#folder = folder;
    this.#files = files;
  }

  sendDocument(exchange: Exchange, name: string, policy: DocumentPolicy = {}): Promise<Answer> {
    const rules = Object.entries({ ...POLICY, ...policy }).map(([rule, sources]) => `${rule} ${sources}`);
    return this.#send(exchange, name, [
      ['Cache-Control', 'no-cache'],
      ['Content-Security-Policy', rules.join('; ')],
    ]);
  }

  /** Refuses (404) a name that is no file's. */
  sendFile(exchange: Exchange, name: string): Promise<Answer> {
    return this.#send(exchange, name, [
      ['Cache-Control', 'public, max-age=31536000, immutable'],
      ['Content-Security-Policy', WORKER.test(name) ? WORKER_POLICY : "default-src 'none'; sandbox"],
    ]);
  }

  async #send(exchange: Exchange, name: string, more: Headers): Promise<Answer> {
    const { 'accept-encoding': accepted = '', 'if-none-match': known = '' } = exchange.headers;
    const { coding, suffix } = PACKED.find((form) => acceptsCoding(accepted, form.coding ?? '')) ?? PLAIN;
    const { version, bytes } = await this.#load(name + suffix);
    const tag = `"${version}${suffix}"`;
    const encoding: Headers = coding === undefined ? [] : [['Content-Encoding', coding]];
    const headers: Headers = [...COMMON, ...more, ['ETag', tag], ...encoding];
    if (listsTag(known, tag)) return empty(304, headers);
    const media = MEDIA_TYPES[extname(name)] ?? 'application/octet-stream';
    exchange.streamSized(media, headers, bytes.length, bytesSource(bytes));
    return 'streamed';
  }

  #load(path: string): Promise<Asset> {
    const known = this.#loaded.get(path);
    if (known !== undefined) return known;
    const loading = this.#read(path);
    this.#loaded.set(path, loading);
    loading.catch(() => this.#loaded.delete(path));
    return loading;
  }

  async #read(path: string): Promise<Asset> {
    const { fd, size, version } = await this.#files.run('openFile', { root: this.#folder, path });
    try {
      return { version, bytes: await this.#files.run('readPiece', { fd, position: 0, length: size }) };
    } finally {
      await this.#files.run('closeFile', { fd });
    }
  }
}
