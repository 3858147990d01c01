/** The program bare-files as a server under measurement. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ChildServer } from '../child-server.js';
import type { FileServer } from './file-server.js';

export class BareServer implements FileServer {
  readonly method = 'POST';
  readonly folder: string;
  readonly #server: ChildServer;

  private constructor(server: ChildServer, folder: string) {
    this.#server = server;
    this.folder = folder;
  }

  /** Serves the files of the folder, which is made when it is missing. */
  static async start(folder: string, durability: 'sync' | 'none'): Promise<BareServer> {
    mkdirSync(folder, { recursive: true });
    return new BareServer(await ChildServer.start('./files/bare-files.js', [folder, durability]), folder);
  }

  url(name: string): string {
    return `${this.#server.url}/${name}`;
  }

  cpuSeconds(): number {
    return this.#server.cpuSeconds();
  }

  /** There is nothing to be done. */
  settled(): Promise<void> {
    return Promise.resolve();
  }

  remove(names: readonly string[]): Promise<void> {
    for (const name of names) rmSync(join(this.folder, name));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}
