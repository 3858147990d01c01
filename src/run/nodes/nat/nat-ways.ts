/**
 * The ways in which a NAT node leads out. The bridge of libvirt is taken when it is up and the operator allows labs to
 * use it. Otherwise QEMU without a machine is a complete NAT, with DHCP and DNS: it needs no privilege, and nothing of
 * the host is configured for it.
 */
import { nat } from '../../../lab/kinds/nat.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { AdapterWire } from '../../links/udp-ports.js';
import type { Ability, MachineNode } from '../machine.js';
import { NAT_BRIDGE, USER_NETWORK } from './nat-network.js';

/** All have the same network code. */
const COMMANDS = ['qemu-system-x86_64', 'qemu-system-i386', 'qemu-system-aarch64'];
const MISSING: Ability = {
  isAble: false,
  why: 'the program qemu-system-x86_64 is not installed',
  debianPackage: 'qemu-system-x86',
};
const SANDBOX = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny';

/** The program prints it when it is ready. */
export const GREETING = '{"QMP":';
/** A program that is not ready after so many milliseconds could not be started. */
const READY_MS = 10_000;

interface NatWaysOptions {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  /** The interfaces of the host that labs may use. */
  readonly interfaces: ReadonlySet<string>;
}

export class NatWays {
  readonly kind = nat;
  readonly confinement = { network: 'host' } as const;
  readonly #options: NatWaysOptions;

  constructor(options: NatWaysOptions) {
    this.#options = options;
  }

  async probe(): Promise<Ability> {
    const isThere = (await this.usesBridge()) || (await this.#command()) !== undefined;
    return isThere ? { isAble: true } : MISSING;
  }

  async usesBridge(): Promise<boolean> {
    const { files, interfaces } = this.#options;
    if (!interfaces.has(NAT_BRIDGE)) return false;
    const found = await files.run('findInterfaces', undefined).catch(() => []);
    return found.some(({ name, isBridge, isUp }) => name === NAT_BRIDGE && isBridge && isUp);
  }

  /** Starts the program of a node at its end of the wire. */
  async start(
    { id, home }: Pick<MachineNode, 'id' | 'home'>,
    { programPort, enginePort }: AdapterWire,
  ): Promise<Program> {
    const args = [
      ...['-M', 'none', '-nodefaults', '-no-user-config', '-display', 'none', '-m', '1M'],
      // Its greeting says that the sockets are open. Nobody asks it anything.
      ...['-qmp', 'stdio', '-sandbox', SANDBOX],
      ...['-netdev', USER_NETWORK],
      // Unlike a `dgram`, QEMU before 7.2 has it, too.
      ...['-netdev', `socket,id=link,udp=127.0.0.1:${enginePort},localaddr=127.0.0.1:${programPort}`],
      ...['-netdev', 'hubport,id=inside,hubid=0,netdev=link'],
      ...['-netdev', 'hubport,id=outside,hubid=0,netdev=user'],
    ];
    return this.#options.keeper.spawn({
      ...{ id, command: (await this.#command()) ?? COMMANDS[0] ?? '', args, folder: '/' },
      ...{ environment: {}, console: 'pipes' },
      project: home.id,
      // Its way out is the network of the host.
      confinement: { network: undefined, writable: [], readable: [] },
      memo: null,
      endsWithServer: true,
    });
  }

  async #command(): Promise<string | undefined> {
    const { files } = this.#options;
    const isThere = await Promise.all(
      COMMANDS.map((name) => files.run('hasProgram', { name }).catch(() => false)),
    );
    return COMMANDS.find((_, index) => isThere[index] === true);
  }
}

/** Resolves when the program has opened its sockets; with false when it has ended before, or takes too long. */
export async function isReady(program: Program): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (isReady: boolean): void => {
      clearTimeout(patience);
      stopListening();
      resolve(isReady);
    };
    const look = (): void => {
      if (Buffer.from(program.output).includes(GREETING)) answer(true);
    };
    const patience = setTimeout(answer, READY_MS, false);
    const stopListening = program.listen(look);
    void program.ended.then(() => {
      answer(false);
    });
    look();
  });
}
