/** The symbols with which clients draw nodes. */
import type { FileThreads } from '../http/file-source.js';
import { posix } from 'node:path';
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import {
  FILE_ANSWERS,
  FILE_HEADERS,
  receiveFile,
  RECEIVING_HEADERS,
  sendFile,
  UNTRUSTED_CONTENT,
} from '../http/file-transfer.js';
import { route, type Route } from '../http/route.js';
import { bytesSource } from '../http/streams/sized-response.js';
import type { Controller } from '../lab/controller.js';
import { folderLanding } from '../files/transfer/landing.js';
import type { Transfers } from '../files/transfer/transfers.js';
import { names, nothing } from './schemas.js';

const tag = 'Symbols';

const symbol = z.strictObject({
  builtin: z.boolean(),
  filename: z.string(),
  symbol_id: z.string(),
  theme: z.string(),
});

export function symbolRoutes({ symbols }: Controller, transfers: Transfers, files: FileThreads): Route[] {
  const one = names('symbol_id');
  return [
    route({
      method: 'GET',
      path: '/v2/symbols',
      tag,
      access: { right: 'templates:read' },
      summary: 'List the symbols',
      params: nothing,
      answers: { 200: z.array(symbol) },
      handle: () => json(200, symbols.list()),
    }),
    route({
      method: 'GET',
      path: '/v2/default_symbols',
      tag,
      access: { right: 'templates:read' },
      summary: 'List the symbol of each category, theme by theme',
      params: nothing,
      answers: { 200: z.record(z.string(), z.record(z.string(), z.string())) },
      handle: () => json(200, symbols.defaults()),
    }),
    route({
      method: 'GET',
      path: '/v2/symbols/{symbol_id:.+}/dimensions',
      tag,
      access: { right: 'templates:read' },
      summary: 'Show the size of a symbol',
      params: one,
      answers: { 200: z.strictObject({ height: z.int(), width: z.int() }) },
      handle: async ({ params }) => {
        const size = await symbols.size(decodedAgain(params.symbol_id));
        if (size === undefined) throw refusals.symbolUnreadable();
        return json(200, { height: size.height, width: size.width });
      },
    }),
    route({
      method: 'GET',
      path: '/v2/symbols/{symbol_id:.+}/raw',
      tag,
      access: { right: 'templates:read' },
      summary: 'Read the picture of a symbol; an unknown symbol has the picture of a computer',
      params: one,
      headers: FILE_HEADERS,
      answers: { ...FILE_ANSWERS, 200: { media: 'image/svg+xml' } },
      handle: ({ params, exchange }) => {
        const picture = symbols.picture(decodedAgain(params.symbol_id));
        if ('file' in picture) return sendFile(exchange, files, { root: symbols.folder, path: picture.file });
        const bytes = Buffer.from(picture.svg);
        exchange.streamSized('image/svg+xml', UNTRUSTED_CONTENT, bytes.length, bytesSource(bytes));
        return 'streamed';
      },
    }),
    route({
      method: 'POST',
      path: '/v2/symbols/{symbol_id:.+}/raw',
      tag,
      access: { right: 'templates:write' },
      summary: 'Upload a custom symbol',
      params: one,
      body: 'raw',
      headers: RECEIVING_HEADERS,
      answers: { 204: null },
      handle: async ({ params, exchange }) => {
        const name = posix.basename(decodedAgain(params.symbol_id));
        symbols.checkName(name);
        const landing = folderLanding(symbols.folder, name, { symbol: name }, true);
        const answer = await receiveFile(exchange, transfers, landing, 204, symbols.largest);
        symbols.added(name);
        return answer;
      },
    }),
  ];
}

/** Some clients encode the id, and then encode the whole path once more. */
function decodedAgain(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
