/** The telnet port of one console. */
import type { Socket } from 'node:net';
import type { ConsoleHub } from './console-hub.js';
import { ConsolePort, type ConsolePlace } from './console-port.js';
import { telnetBytes, telnetGreeting, TelnetProtocol } from './telnet-protocol.js';

export class TelnetListener extends ConsolePort {
  readonly #hub: ConsoleHub;

  constructor(hub: ConsoleHub, place: ConsolePlace) {
    super(place);
    this.#hub = hub;
  }

  protected serve(socket: Socket): void {
    if (this.#hub.isFull) {
      socket.destroy();
      return;
    }
    const asksForWindow = this.#hub.canResize;
    socket.write(telnetGreeting(asksForWindow));
    const seat = this.#hub.join({
      name: `telnet from ${socket.remoteAddress ?? 'an address unknown'}`,
      isWatching: false,
      send: (bytes) => {
        socket.write(telnetBytes(bytes));
        return socket.writableLength;
      },
      cut: () => {
        socket.destroy();
      },
    });
    const protocol = new TelnetProtocol(seat, asksForWindow);
    socket.on('data', (bytes) => {
      const answer = protocol.receive(bytes);
      if (answer.length > 0) socket.write(answer);
    });
    // A client that types nothing any more has gone.
    socket.on('end', () => {
      socket.destroy();
    });
    this.hold(socket, () => {
      seat.leave();
    });
  }
}
