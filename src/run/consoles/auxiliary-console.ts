/** The second console of a node: a telnet port that is there while the node runs. */
import { refusals, systemCode } from '../../base/errors/errors.js';
import type { MachineConsole, MachineNode } from '../nodes/machine.js';
import { ConsoleHub } from './console-hub.js';
import type { ConsolePlace } from './console-port.js';
import { TelnetListener } from './telnet-listener.js';

interface ClosableConsole extends MachineConsole {
  close(): void;
}

export class AuxiliaryConsole {
  readonly #source: ClosableConsole;
  readonly #listener: TelnetListener;

  /** Refuses (409) a port that cannot be listened at; the source is closed then. */
  static async open(
    node: Pick<MachineNode, 'name'>,
    place: ConsolePlace,
    source: ClosableConsole,
    used: () => void,
  ): Promise<AuxiliaryConsole> {
    const hub = new ConsoleHub(used);
    hub.connect(source);
    hub.printed(source.output);
    source.listen((bytes) => {
      hub.printed(bytes);
    });
    const listener = new TelnetListener(hub, place);
    try {
      await listener.listen();
    } catch (error) {
      source.close();
      throw refusals.consoleNotOpened(node.name, place.port, systemCode(error) ?? String(error));
    }
    return new AuxiliaryConsole(source, listener);
  }

  private constructor(source: ClosableConsole, listener: TelnetListener) {
    this.#source = source;
    this.#listener = listener;
  }

  async close(): Promise<void> {
    this.#source.close();
    await this.#listener.close();
  }
}
