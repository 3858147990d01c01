/** Wirefarm, with files as images. Their MD5 is found out after the answer, unless the client has sent it. */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { call } from '../compute-client.js';
import { ChildServer } from '../child-server.js';
import type { FileServer } from './file-server.js';

export interface WirefarmOptions {
  readonly args?: readonly string[];
  /** The folder of images that are there already: those for QEMU lie in its folder `QEMU`. */
  readonly images?: string;
  readonly nodeOptions?: readonly string[];
}

const LOOK_EVERY_MS = 100;
const MOST_LOOKS = 3000;

export class WirefarmImages implements FileServer {
  readonly method = 'POST';
  readonly folder: string;
  readonly server: ChildServer;

  private constructor(server: ChildServer, images: string) {
    this.server = server;
    this.folder = join(images, 'QEMU');
  }

  static async start(data: string, options: WirefarmOptions = {}): Promise<WirefarmImages> {
    const { args = [], images = join(data, 'images'), nodeOptions = [] } = options;
    const all = ['--port', '0', '--data', data, '--images', images, ...args];
    return new WirefarmImages(await ChildServer.start('../src/server/main.js', all, nodeOptions), images);
  }

  url(name: string): string {
    return `${this.#images}/${name}`;
  }

  cpuSeconds(): number {
    return this.server.cpuSeconds();
  }

  async settled(names: readonly string[]): Promise<void> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const list = (await call(this.#images, 'GET')) as { filename: string; md5sum: string | null }[];
      const known = new Set(list.filter(({ md5sum }) => md5sum !== null).map(({ filename }) => filename));
      if (names.every((name) => known.has(name))) return;
      await setTimeout(LOOK_EVERY_MS);
    }
    throw new Error('the digests of images are not known long after their upload');
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) await call(this.url(name), 'DELETE');
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  get #images(): string {
    return `${this.server.url}/v2/compute/qemu/images`;
  }
}
