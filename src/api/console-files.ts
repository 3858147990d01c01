/** The console: documents and files that hold no data, and so need no credentials. Its calls do. */
import { fileURLToPath } from 'node:url';
import { ASSET_HEADERS, AssetFiles } from '../http/assets/asset-files.js';
import type { FileThreads } from '../http/file-source.js';
import { route, type Route } from '../http/route.js';
import { names, nothing } from './schemas.js';

const tag = 'Pages';
const FOLDER = fileURLToPath(new URL('../../console', import.meta.url));

/** `isStartPage`: whether the console is at the root of the server. */
export function consoleFileRoutes(files: FileThreads, isStartPage: boolean): Route[] {
  const assets = new AssetFiles(FOLDER, files);
  const document = (path: string, summary: string, name = 'index.html', policy = {}): Route =>
    route({
      method: 'GET',
      path,
      tag,
      access: 'anyone',
      summary,
      params: nothing,
      headers: ASSET_HEADERS,
      answers: { 200: { media: 'text/html' }, 304: null },
      handle: ({ exchange }) => assets.sendDocument(exchange, name, policy),
    });
  return [
    ...(isStartPage ? [document('/', 'Read the console')] : []),
    document('/console', 'Read the console, also where another page is at the root'),
    document('/docs', 'Read the description of the interface, in which calls can be tried', 'docs.html', {
      'img-src': "'self' data:",
    }),
    document('/terminal.html', 'Read the terminal of the console', 'terminal.html', {
      // xterm.js makes style elements.
      'style-src': "'self' 'unsafe-inline'",
    }),
    route({
      method: 'GET',
      path: '/console/{name}',
      tag,
      access: 'anyone',
      summary: 'Read a file of the console',
      params: names('name'),
      headers: ASSET_HEADERS,
      answers: { 200: { media: 'application/octet-stream' }, 304: null },
      handle: ({ params, exchange }) => assets.sendFile(exchange, params.name),
    }),
  ];
}
