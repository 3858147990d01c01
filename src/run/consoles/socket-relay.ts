/**
 * The TCP port of a console that speaks a protocol of its own, such as VNC or HTTP: each connection is passed on to the
 * program that serves it. Neither side is read faster than the other one takes the bytes.
 */
import type { Socket } from 'node:net';
import { ConsolePort, type ConsolePlace } from './console-port.js';

/** A new connection to the program behind a console. One that is refused has an error soon. */
export type ConsoleOpener = () => Promise<Socket>;

export class SocketRelay extends ConsolePort {
  /** While it is undefined, connections are closed at once. */
  open: ConsoleOpener | undefined;
  readonly #used: () => void;

  /** `used` is called when a client sends something. */
  constructor(place: ConsolePlace, used: () => void) {
    super(place);
    this.#used = used;
  }

  protected serve(client: Socket): void {
    let program: Socket | undefined;
    this.hold(client, () => {
      // The last bytes that it has sent are on their way.
      program?.destroySoon();
    });
    if (this.open === undefined) {
      client.destroy();
      return;
    }
    this.open().then(
      (opened) => {
        if (client.destroyed) {
          opened.destroy();
          return;
        }
        program = opened;
        this.hold(opened, () => {
          client.destroySoon();
        });
        client.on('data', this.#used);
        client.pipe(opened);
        opened.pipe(client);
      },
      () => client.destroy(),
    );
  }
}
