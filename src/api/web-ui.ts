/** A built copy of a web UI, in the folder of `--web-ui`, where users of GNS3 expect it. */
import { extname } from 'node:path';
import { isRefusal, refusals } from '../base/errors/errors.js';
import { empty, type Answer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import type { FileThreads } from '../http/file-source.js';
import { FILE_ANSWERS, FILE_HEADERS, sendFile } from '../http/file-transfer.js';
import { acceptsCoding, GzippedFiles } from '../http/gzipped-files.js';
import { listsTag } from '../http/headers.js';
import { bytesSource } from '../http/streams/sized-response.js';
import { route, type Route } from '../http/route.js';
import { names, nothing } from './schemas.js';

/** The path at which the web UI is served. Its pages are built for it. */
export const WEB_UI = '/static/web-ui';
const PAGE = 'index.html';

/** Not for other files: nosniff keeps a browser from running a script that somebody put among those of a lab. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.eot': 'application/vnd.ms-fontobject',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
};

/** The others are compressed already. */
const PACKED = /^(font\/woff|image\/(gif|jpeg|png|webp))/;

const HEADERS = [
  // A new copy of the web UI counts at once; what has not changed is not sent again.
  ['Cache-Control', 'no-cache'],
  ['Vary', 'Accept-Encoding, Origin'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "object-src 'none'; base-uri 'self'; frame-ancestors 'self'"],
] as const;

/** The request headers that decide in which form a file is sent. */
const READING_HEADERS = [...FILE_HEADERS, 'accept-encoding'] as const;

function sendGzipped(
  exchange: Exchange,
  media: string,
  { version, bytes }: { readonly version: string; readonly bytes: Uint8Array },
): Answer {
  const tag = `"${version}-gzip"`;
  const headers = [...HEADERS, ['ETag', tag], ['Content-Encoding', 'gzip']] as const;
  if (listsTag(exchange.headers['if-none-match'] ?? '', tag)) return empty(304, headers);
  exchange.streamSized(media, headers, bytes.length, bytesSource(bytes));
  return 'streamed';
}

/** Without a folder the paths are there, and refused with what to do. */
export function webUiRoutes(folder: string | undefined, files: FileThreads): Route[] {
  const gzipped = new GzippedFiles(files);
  const send = async (exchange: Exchange, path: string): Promise<Answer> => {
    if (folder === undefined) throw refusals.webUiMissing();
    const media = MEDIA_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
    const { range = '', 'accept-encoding': accepted = '' } = exchange.headers;
    if (range === '' && !PACKED.test(media) && acceptsCoding(accepted, 'gzip')) {
      const found = await gzipped.find(folder, path);
      if (found !== undefined) return sendGzipped(exchange, media, found);
    }
    return sendFile(exchange, files, { root: folder, path, media, headers: () => HEADERS });
  };
  return [
    route({
      method: 'GET',
      path: `${WEB_UI}/`,
      tag: 'Pages',
      access: 'anyone',
      summary: 'Read the page of the web UI',
      params: nothing,
      headers: READING_HEADERS,
      answers: FILE_ANSWERS,
      handle: ({ exchange }) => send(exchange, PAGE),
    }),
    route({
      method: 'GET',
      path: `${WEB_UI}/{filename:.+}`,
      tag: 'Pages',
      access: 'anyone',
      summary: 'Read a file of the web UI; any other path gets its page',
      params: names('filename'),
      headers: READING_HEADERS,
      answers: FILE_ANSWERS,
      handle: async ({ params, exchange }) => {
        try {
          return await send(exchange, params.filename);
        } catch (error) {
          if (!isRefusal(error, 'file_missing', 'is_directory', 'not_directory')) throw error;
          return send(exchange, PAGE);
        }
      },
    }),
  ];
}
