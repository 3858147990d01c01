/**
 * Confinement of the programs of nodes: each node has a user of its own, sees of the server's folders what its orders
 * name, and has a network of its own, in which only the engine's sockets are. All of it needs privileges.
 */
import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import type { Logger } from 'pino';
import { messageOf } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import type { ComputeFiles } from '../files.js';
import { FIRST_PROGRAM_USER, LAST_PROGRAM_USER, type SpawnConfinement } from '../keeper/messages.js';
import type { ProgramOrder } from '../keeper/program.js';
import type { AdapterWire } from '../links/udp-ports.js';
import type { NamespaceTasks } from './namespace-tasks.js';

interface ConfinementOptions {
  readonly isWanted: boolean;
  /** Tells this server from others on the host: their nodes have other users. */
  readonly mark: string;
  /** The folders of the server; the first is that of its data. */
  readonly serverFolders: readonly [string, ...string[]];
  readonly files: ComputeFiles;
  readonly namespaces: TaskRunner<NamespaceTasks>;
  readonly log: Logger;
}

/** The network of a node. */
export interface NodeNetwork {
  /** For the orders of its programs. */
  readonly path: string;
  /** The engine's ends of its wires, for their owner to close. */
  readonly endpoints: readonly PortEndpoint[];
  /** The network goes when nothing is open in it, either. */
  readonly close: () => void;
}

export class Confinement {
  readonly #options: ConfinementOptions;
  #problem: Promise<string | undefined> | undefined;

  constructor(options: ConfinementOptions) {
    this.#options = options;
  }

  /** Why programs are not confined; undefined when they are. Never rejects. */
  problem(): Promise<string | undefined> {
    this.#problem ??= this.#probe();
    return this.#problem;
  }

  /** For an order whose program is to be confined, if programs can be. */
  async ofOrder(order: ProgramOrder): Promise<SpawnConfinement | undefined> {
    const { id, confinement } = order;
    if (confinement === undefined || (await this.problem()) !== undefined) return undefined;
    const { files, serverFolders } = this.#options;
    const { network = '', devices = [], moved = [], ...named } = confinement;
    const user = this.userOf(id);
    const view = await files.run('prepareView', { ...named, devices, moved, user, serverFolders });
    return { user, network, ...view };
  }

  /** The user of a program: that of its node. Its number is also that of its group. */
  userOf(programId: string): number {
    const [node = ''] = programId.split('/', 1);
    const digest = createHash('sha256').update(`${this.#options.mark} ${node}`).digest();
    return FIRST_PROGRAM_USER + (digest.readUInt32LE() % (LAST_PROGRAM_USER - FIRST_PROGRAM_USER + 1));
  }

  /** A new network, or the one at this path. Undefined when programs are not confined. */
  async openNetwork(wires: readonly AdapterWire[], path?: string): Promise<NodeNetwork | undefined> {
    return (await this.problem()) === undefined ? this.#open(wires, path) : undefined;
  }

  /** The network in which a process is. Whether programs are confined does not matter. */
  networkOf(pid: number): Promise<NodeNetwork> {
    return this.#open([], `/proc/${pid}/ns/net`);
  }

  async #open(wires: readonly AdapterWire[], path: string | undefined): Promise<NodeNetwork> {
    const { namespaces, log } = this.#options;
    const { descriptor, endpoints } = await namespaces.run('openNetwork', { wires, path });
    return {
      path: `/proc/${process.pid}/fd/${descriptor}`,
      endpoints,
      close: () => {
        namespaces.run('closeNetwork', { descriptor }).catch((error: unknown) => {
          log.error({ err: error }, 'the network of a node could not be closed');
        });
      },
    };
  }

  /** A connection to a TCP port of the loopback of a network. One that is refused has an error soon. */
  async connect(path: string, port: number): Promise<Socket> {
    return new Socket({ fd: await this.#options.namespaces.run('connect', { path, port }) });
  }

  async #probe(): Promise<string | undefined> {
    const { isWanted, namespaces, serverFolders, log } = this.#options;
    if (!isWanted) return 'it is switched off';
    const [folder] = serverFolders;
    const problem = await namespaces.run('probeConfinement', { folder }).catch(messageOf);
    if (problem !== undefined) {
      log.warn(
        { reason: problem },
        'the programs of nodes are not confined: they have the rights of the server',
      );
    }
    return problem;
  }
}
