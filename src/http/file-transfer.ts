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
  const size = Math.min(opened.size, file.most ?? Infinity);
  const tag = `"${opened.version}"`;
  const known: Headers = [
    ['Last-Modified', new Date(opened.modifiedMs).toUTCString()],
    ['ETag', tag],
    ['Accept-Ranges', 'bytes'],
    ...(file.headers?.(opened) ?? []),
  ];
  const isKnown = listsTag(exchange.headers['if-none-match'] ?? '', tag);
  const range = isKnown ? undefined : rangeOf(exchange, size, tag);
  const { start, end } = typeof range === 'object' ? range : { start: 0, end: size };
  const source = new FileSource(files, opened, start, end);
  if (isKnown) {
    source.close();
    return empty(304, known);
  }
  if (range === 'unsatisfiable') {
    source.close();
    const { status, json } = errorAnswer(refusals.rangeBeyondEnd(size), exchange);
    return jsonText(status, json, [['Content-Range', `bytes */${size}`]]);
  }
  exchange.streamSized(
    file.media ?? mediaType(path),
    [
      ...UNTRUSTED_CONTENT,
      ...known,
      ...(range === undefined ? [] : [['Content-Range', `bytes ${start}-${end - 1}/${size}`] as const]),
    ],
    end - start,
    source,
    range === undefined ? 200 : 206,
  );
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
