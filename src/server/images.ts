/** The images of the server, with those of its farm where it shares one. */
import { FarmImages } from '../farm/images/farm-images.js';
import { ImageLibrary } from '../files/images/image-library.js';
import type { Transfers } from '../files/transfer/transfers.js';
import type { Controller } from '../lab/controller.js';
import type { Logger } from 'pino';
import type { Config } from './config.js';
import { temporaryImages } from './folders.js';
import type { ServerStore } from './server-store.js';
import type { Threads } from './threads.js';

interface ServerImagesOptions {
  readonly config: Config;
  readonly store: ServerStore;
  readonly threads: Threads;
  readonly controller: Controller;
  readonly transfers: Transfers;
  readonly log: Logger;
}

export class ServerImages {
  readonly library: ImageLibrary;
  readonly #shared: FarmImages | undefined;

  constructor({ config, store, threads, controller, transfers, log }: ServerImagesOptions) {
    const { member, shared, forwarder } = store;
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

  /** Call it when the server has joined its farm. */
  share(): void {
    this.#shared?.start(this.library);
  }

  async close(): Promise<void> {
    this.#shared?.stop();
    await this.library.close();
  }
}
