/** The images of the server, with those of its farm where it shares one. */
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { isRefusal } from '../base/errors/errors.js';
import type { PushedImages } from '../farm/computes/remote-computes.js';
import { FarmImages } from '../farm/images/farm-images.js';
import { ImageLibrary } from '../files/images/image-library.js';
import type { Emulator } from '../files/images/image-name.js';
import type { FileThreads } from '../http/file-source.js';
import type { Transfers } from '../files/transfer/transfers.js';
import type { Controller } from '../lab/controller.js';
import type { Config } from './config.js';
import { temporaryImages } from './folders.js';
import type { ServerStore } from './server-store.js';
import type { Threads } from './threads.js';

/** So much of an image that goes to a compute is read at once. */
const READ_LENGTH = 256 * 1024;

interface ServerImagesOptions {
  readonly config: Config;
  readonly store: ServerStore;
  readonly threads: Threads;
  readonly controller: Controller;
  readonly transfers: Transfers;
  readonly log: Logger;
}

export class ServerImages implements PushedImages {
  readonly library: ImageLibrary;
  readonly #files: FileThreads;
  readonly #shared: FarmImages | undefined;

  constructor({ config, store, threads, controller, transfers, log }: ServerImagesOptions) {
    const { member, shared, forwarder } = store;
    this.#files = threads.files;
    if (member !== undefined && shared !== undefined && forwarder !== undefined)
      this.#shared = new FarmImages({
        ...{ own: member.place.id, member, store: shared, transfers, log },
        call: forwarder.calls.call.bind(forwarder.calls),
        copies: config.imageCopies,
      });
    this.library = new ImageLibrary({
      folder: config.images,
      temporary: temporaryImages(config),
      disk: threads.readers,
      store,
      projects: controller.projects,
      allowsAnyPath: config.local,
      elsewhere: this.#shared,
    });
  }

  async read(
    emulator: Emulator,
    name: string,
  ): Promise<{ readonly size: number; readonly body: Readable } | undefined> {
    try {
      await this.library.bring(emulator, name);
      const { root, path } = await this.library.place(emulator, name);
      const opened = await this.#files.run('openFile', { root, path });
      return { size: opened.size, body: Readable.from(this.#pieces(opened), { highWaterMark: 1 }) };
    } catch (error) {
      if (isRefusal(error, 'image_missing', 'image_outside', 'image_name_refused')) return undefined;
      throw error;
    }
  }

  async *#pieces({ fd, size }: { readonly fd: number; readonly size: number }): AsyncGenerator<Uint8Array> {
    try {
      for (let position = 0; position < size;) {
        const piece = await this.#files.reads.read(fd, position, Math.min(READ_LENGTH, size - position));
        const bytes = piece.bytes.slice();
        piece.giveBack();
        if (bytes.length === 0) throw new Error('the image was cut short while it was read');
        position += bytes.length;
        yield bytes;
      }
    } finally {
      await this.#files.run('closeFile', { fd });
    }
  }

  /** Call it when the server has joined its farm. */
  share(): void {
    this.#shared?.start(this.library);
  }

  async close(): Promise<void> {
    this.#shared?.stop();
    await this.library.close();
  }
}
