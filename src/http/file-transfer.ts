/** Files of a folder over HTTP, both ways, in constant memory: the bytes wait for the slower side. */
import { extname } from 'node:path';
import { refusals } from '../errors.js';
import type { TaskPool } from '../pool/task-pool.js';
import type { FileTasks } from '../storage/file-tasks.js';
import { empty, jsonText, type Answer, type Headers } from './answer.js';
import { listsTag, parseRange } from './byte-range.js';
import { errorAnswer } from './error-body.js';
import type { Exchange } from './exchange.js';
import { FileSource } from './file-source.js';
import { IDLE_LIMIT_MS } from './streams/long-stream.js';

export interface PlacedFile {
  readonly root: string;
  readonly path: string;
  /** What lies behind so many bytes is not sent: it is being written. */
  readonly most?: number;
  /** Whether folders of the path that are missing are made when it is written. */
  readonly makesFolders?: boolean;
}

const DRAIN_MS = 2000;
const PAUSE_ABOVE = 2 * 1024 * 1024;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pcap': 'application/vnd.tcpdump.pcap',
  '.pcapng': 'application/x-pcapng',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
};

/** A file may hold anything, so a browser that shows it must not run what is in it. */
export const UNTRUSTED_CONTENT: Headers = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"],
];

export function mediaType(path: string): string {
  return MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
}

/** The request headers that decide how much of a file is sent: to be declared by every route that sends one. */
export const FILE_HEADERS = ['if-none-match', 'if-range', 'range'] as const;

/** What such a route answers. */
export const FILE_ANSWERS = {
  200: { media: 'application/octet-stream' },
  206: { media: 'application/octet-stream' },
  304: null,
} as const;

/** Streams the file to the client, or the part of it that is asked for. */
export async function sendFile(
  exchange: Exchange,
  files: Pick<TaskPool<FileTasks>, 'run'>,
  file: PlacedFile,
): Promise<Answer> {
  const opened = await files.run('openFile', file);
  const size = Math.min(opened.size, file.most ?? Infinity);
  const tag = `"${opened.version}"`;
  const known: Headers = [
    ['Last-Modified', new Date(opened.modifiedMs).toUTCString()],
    ['ETag', tag],
    ['Accept-Ranges', 'bytes'],
  ];
  const source = new FileSource(files, opened);
  if (listsTag(exchange.headers['if-none-match'] ?? '', tag)) {
    source.close();
    return empty(304, known);
  }
  const range = rangeOf(exchange, size, tag);
  if (range === 'unsatisfiable') {
    source.close();
    const { status, json } = errorAnswer(refusals.rangeBeyondEnd(size), exchange);
    return jsonText(status, json, [['Content-Range', `bytes */${size}`]]);
  }
  const { start, end } = range ?? { start: 0, end: size };
  exchange.streamSized(
    mediaType(file.path),
    [
      ...UNTRUSTED_CONTENT,
      ...known,
      ...(range === undefined ? [] : [['Content-Range', `bytes ${start}-${end - 1}/${size}`] as const]),
    ],
    end - start,
    {
      read: (position) => source.read(start + position, end),
      close: () => {
        source.close();
      },
    },
    range === undefined ? 200 : 206,
  );
  return 'streamed';
}

function rangeOf({ method, headers }: Exchange, size: number, tag: string): ReturnType<typeof parseRange> {
  const ifRange = headers['if-range'] ?? '';
  if (method !== 'GET' || (ifRange !== '' && ifRange !== tag)) return undefined;
  return parseRange(headers['range'] ?? '', size);
}

/** Writes the request body to the file, which appears whole or not at all. */
export async function receiveFile(
  exchange: Exchange,
  files: TaskPool<FileTasks>,
  file: PlacedFile,
  success: number,
): Promise<Answer> {
  const received = new BodyQueue(exchange);
  const unpublished = await files.run('createFile', file).catch(async (error: unknown) => {
    await received.drain();
    throw error;
  });
  try {
    let position = 0;
    for (let bytes = await received.next(); bytes !== undefined; bytes = await received.next()) {
      const { length } = bytes;
      await files.run('writePiece', { fd: unpublished.fd, position, bytes }, [bytes.buffer]);
      position += length;
    }
  } catch (error) {
    await files.run('discardFile', unpublished);
    await received.drain();
    throw error;
  }
  await files.run('publishFile', unpublished);
  return empty(success);
}

/** The chunks of a request body between the connection and its one reader. */
class BodyQueue {
  readonly #incoming;
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #waiting = 0;
  #isComplete = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(exchange: Exchange) {
    this.#incoming = exchange.receive({
      onChunk: (bytes) => {
        this.#chunks.push(bytes);
        this.#waiting += bytes.length;
        if (this.#waiting > PAUSE_ABOVE) this.#incoming.pause();
        this.#notify();
      },
      onEnd: () => {
        this.#isComplete = true;
        this.#notify();
      },
      onExpired: () => {
        this.#fail(refusals.requestTooSlow(IDLE_LIMIT_MS / 1000));
      },
    });
    exchange.atEnd(() => {
      if (!this.#isComplete) this.#fail(new Error('the client went away'));
    });
  }

  /** Everything that has come since the last call; undefined at the end of the body. */
  async next(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    while (this.#chunks.length === 0 && !this.#isComplete && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#chunks.length === 0) return undefined;
    const bytes = joined(this.#chunks);
    this.#chunks = [];
    this.#waiting = 0;
    this.#incoming.resume();
    return bytes;
  }

  /** Nothing more is wanted; what the client still sends is dropped for a while. */
  async drain(): Promise<void> {
    this.#chunks = [];
    await this.#incoming.drain(DRAIN_MS);
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#notify();
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

function joined(chunks: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
