/**
 * The TCP port of a console that speaks a protocol of its own, such as VNC: each connection is passed on to the Unix socket
 * at which the program serves it. Neither side is read faster than the other one takes the bytes.
 */
import { connect, type Socket } from 'node:net';
import { ConsolePort } from './console-port.js';

export class SocketRelay extends ConsolePort {
  /** The path of the Unix socket; while it is undefined, connections are closed at once. */
  path: string | undefined;

  protected serve(client: Socket): void {
    if (this.path === undefined) {
      client.destroy();
      return;
    }
    const program = connect({ path: this.path });
    for (const [socket, other] of [
      [client, program],
      [program, client],
    ] as const) {
      this.hold(socket, () => {
        // The last bytes that it has sent are on their way.
        other.destroySoon();
      });
      socket.pipe(other);
    }
  }
}
