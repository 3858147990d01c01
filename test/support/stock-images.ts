/** The image routes of a GNS3 server as far as clients need them: no HEAD, no ranges, no tags, no resumable uploads. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { serving } from './cli.js';
import type { Teardown } from './scratch.js';

const IMAGES = '/v2/compute/qemu/images';

export class StockImages {
  readonly content = new Map<string, Buffer>();
  /** The MD5 that the list shows instead of the right one. */
  wrongMd5: string | undefined;
  url = '';

  static async start(t: Teardown): Promise<StockImages> {
    const images = new StockImages();
    images.url = await serving(t, (request, response) => {
      // A client that goes away leaves nothing behind.
      images.#answer(request, response).catch(() => response.destroy());
    });
    return images;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const name = decodeURIComponent(url.slice(IMAGES.length + 1));
    const image = this.content.get(name);
    if (!url.startsWith(IMAGES)) {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('404: Not Found');
    } else if (method === 'HEAD') {
      response.writeHead(405, { Allow: 'GET,POST' }).end();
    } else if (method === 'POST') {
      this.content.set(name, await buffer(request));
      response.writeHead(204).end();
    } else if (url === IMAGES) {
      response.end(JSON.stringify([...this.content].map(([path, bytes]) => this.#shown(path, bytes))));
    } else if (image === undefined) {
      response.writeHead(409).end(JSON.stringify({ message: `The image ${name} is missing`, status: 409 }));
    } else {
      response.writeHead(200, { 'Content-Length': image.length }).end(image);
    }
  }

  #shown(path: string, bytes: Buffer): unknown {
    const md5sum = this.wrongMd5 ?? createHash('md5').update(bytes).digest('hex');
    return { filename: path, path, filesize: bytes.length, md5sum };
  }
}
