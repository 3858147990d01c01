/** The console of a node that is a program, and the port at which it is served. */
import { refusals, systemCode } from '../../base/errors/errors.js';
import { ConsoleHub, MOST_CLIENTS } from '../consoles/console-hub.js';
import type { ConsoleReach } from '../consoles/console-port.js';
import { SocketRelay } from '../consoles/socket-relay.js';
import { TelnetListener } from '../consoles/telnet-listener.js';
import type { MachineNode, Run } from './machine.js';

export class ServedConsole {
  readonly hub: ConsoleHub;
  readonly #node: Pick<MachineNode, 'name' | 'consoleType' | 'consolePort'>;
  readonly #reach: ConsoleReach;
  readonly #used: () => void;
  /** Listens from a start to a stop, also when the program has died meanwhile: its last words can be read. */
  #listener: TelnetListener | SocketRelay | undefined;

  /** `used` is called when somebody uses it. */
  constructor(
    node: Pick<MachineNode, 'name' | 'consoleType' | 'consolePort'>,
    reach: ConsoleReach,
    used: () => void,
  ) {
    this.#node = node;
    this.#reach = reach;
    this.#used = used;
    this.hub = new ConsoleHub(used);
  }

  /** Refuses (409, 503) a console that nobody may join. That of a program that has died is open until it is stopped. */
  check(): void {
    const { name, consoleType } = this.#node;
    if (consoleType !== 'telnet') throw refusals.consoleMissing(name, 'telnet');
    if (this.#listener === undefined) throw refusals.consoleClosed(name);
    if (this.hub.isFull) throw refusals.consoleFull(MOST_CLIENTS);
  }

  /** Refuses (409) a port that is taken. */
  async open(): Promise<void> {
    const { name, consoleType: type, consolePort: port } = this.#node;
    if (type === undefined || type === 'none' || port === null) return;
    const place = { reach: this.#reach, port };
    const listener =
      type === 'telnet' ? new TelnetListener(this.hub, place) : new SocketRelay(place, this.#used);
    try {
      await listener.listen();
    } catch (error) {
      throw refusals.consoleNotOpened(name, port, systemCode(error) ?? String(error));
    }
    this.#listener = listener;
  }

  connect({ console: source, openConsole }: Run): void {
    if (this.#listener instanceof SocketRelay) this.#listener.open = openConsole;
    if (source === undefined) return;
    this.hub.connect(source);
    this.hub.printed(source.output);
    source.listen((bytes) => {
      this.hub.printed(bytes);
    });
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.close();
  }
}
