/** Downloads and uploads of files, in constant memory: the faster side waits for the slower one. */
import { extname } from 'node:path';
import { refusals } from '../base/errors/errors.js';
import type { OpenedFile } from '../base/disk/regular-file.js';
import { type DigestName, type Digests, type Landing, checkPromise } from '../files/transfer/landing.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { empty, jsonText, type Answer, type Headers } from './answer.js';
import { DIGEST_HEADERS, listsTag, parseRange, promisedDigests } from './headers.js';
import { errorAnswer } from './error-body.js';
import type { Exchange } from './exchange.js';
import { FileSource, type FileThreads } from './file-source.js';
import { RAW_BODY_HEADERS, RawBody } from './raw-body.js';
import type { PieceSource } from './streams/sized-response.js';

export interface PlacedFile {
  readonly root: string;
  /** When given, the path starts at this folder below the root, to which no link may lead. */
  readonly folder?: string;
  readonly path: string;
  /** The media type; without it, the name of the file decides. */
  readonly media?: string;
  /** Bytes behind this position are not sent, because they are being written. */
  readonly most?: number;
  /** Further headers of the answer. */
  readonly headers?: (opened: OpenedFile) => Headers;
}

/** Bodies up to this length are stored as a whole, which costs less than a stream. */
const LARGEST_AT_ONCE = 64 * 1024;

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

/** A file may hold anything, so a browser that shows it must not run scripts in it. */
export const UNTRUSTED_CONTENT: Headers = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"],
];

function mediaType(path: string): string {
  return MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
}

/** The request headers that decide how much of a file is sent. Every route that sends a file must declare them. */
export const FILE_HEADERS = ['if-none-match', 'if-range', 'range'] as const;

/** The answers of a route that sends a file. */
export const FILE_ANSWERS = {
  200: { media: 'application/octet-stream' },
  206: { media: 'application/octet-stream' },
  304: null,
} as const;

/** The request headers that describe a body. Every route that receives a file must declare them. */
export const RECEIVING_HEADERS = [...RAW_BODY_HEADERS, ...DIGEST_HEADERS];

/** Streams the file to the client, or the requested part of it. */
export async function sendFile(exchange: Exchange, files: FileThreads, file: PlacedFile): Promise<Answer> {
  const { root, folder, path } = file;
  const opened = await files.run('openFile', { root, folder, path });
  const sourceOf = (start: number, end: number): FileSource => new FileSource(files, opened, start, end);
  return sendBody(exchange, {
    size: Math.min(opened.size, file.most ?? Infinity),
    tag: opened.version,
    media: file.media ?? mediaType(path),
    headers: [
      ['Last-Modified', new Date(opened.modifiedMs).toUTCString()],
      ...UNTRUSTED_CONTENT,
      ...(file.headers?.(opened) ?? []),
    ],
    open: sourceOf,
    close: () => {
      sourceOf(0, 0).close();
    },
  });
}

/** A body of which a client may ask for a part. Either `open` or `close` is called, once. */
interface SizedBody {
  readonly size: number;
  /** Bodies with the same tag have the same bytes. */
  readonly tag: string;
  readonly media: string;
  readonly headers: Headers;
  /** The bytes from `start` on, before `end`. */
  readonly open: (start: number, end: number) => PieceSource | Promise<PieceSource>;
  readonly close: () => void;
}

/** Streams the body to the client, or the requested part of it. */
export async function sendBody(exchange: Exchange, body: SizedBody): Promise<Answer> {
  const { size, media } = body;
  const tag = `"${body.tag}"`;
  const known: Headers = [['ETag', tag], ['Accept-Ranges', 'bytes'], ...body.headers];
  if (listsTag(exchange.headers['if-none-match'] ?? '', tag)) {
    body.close();
    return empty(304, known);
  }
  const range = rangeOf(exchange, size, tag);
  if (range === 'unsatisfiable') {
    body.close();
    const { status, json } = errorAnswer(refusals.rangeBeyondEnd(size), exchange);
    return jsonText(status, json, [['Content-Range', `bytes */${size}`]]);
  }
  const { start, end } = range ?? { start: 0, end: size };
  const source = await body.open(start, end);
  const part: Headers =
    range === undefined ? [] : [['Content-Range', `bytes ${start}-${end - 1}/${size}`] as const];
  exchange.streamSized(media, [...known, ...part], end - start, source, range === undefined ? 200 : 206);
  return 'streamed';
}

function rangeOf({ method, headers }: Exchange, size: number, tag: string): ReturnType<typeof parseRange> {
  const ifRange = headers['if-range'] ?? '';
  if (method !== 'GET' || (ifRange !== '' && ifRange !== tag)) return undefined;
  return parseRange(headers['range'] ?? '', size);
}

/** Writes the request body to its place, whole or not at all. Refuses (413) a body that is too large. */
export async function receiveFile(
  exchange: Exchange,
  transfers: Pick<Transfers, 'begin' | 'store'>,
  landing: Landing,
  success: number,
  largest = Infinity,
): Promise<Answer> {
  const body = new RawBody(exchange, largest);
  if (landing.hold !== undefined) exchange.atEnd(landing.hold());
  let freeRoom: (() => void) | undefined;
  try {
    const promised = promisedDigests(exchange.headers);
    // A size that is not told counts when it has come.
    freeRoom = await landing.takeRoom?.(body.length ?? 0);
    if ((body.length ?? Infinity) <= LARGEST_AT_ONCE) {
      await transfers.store(landing, await body.whole(), promised);
    } else {
      await receiveStream(body, transfers, landing, promised);
    }
    await landing.settled?.();
  } catch (error) {
    await body.drain();
    throw error;
  } finally {
    freeRoom?.();
  }
  return empty(success);
}

async function receiveStream(
  body: RawBody,
  transfers: Pick<Transfers, 'begin'>,
  landing: Landing,
  promised: Digests,
): Promise<void> {
  const digests = Object.keys(promised) as DigestName[];
  const upload = transfers.begin(landing, { size: body.length, digests, client: body.client }, body.throttle);
  try {
    await body.into(upload, upload.failure);
    const { digests: found } = await upload.finish();
    checkPromise(promised, found);
  } catch (error) {
    await upload.drop();
    throw error;
  }
  await upload.land();
}
