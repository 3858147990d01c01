/**
 * Ghosts: the memory of a router that has its image and has not run yet, as a file. The routers of an image map the file and
 * write into copies of their own, so that its pages are in the memory of the host once, whoever runs the routers. Nobody can
 * write to a ghost after it was made.
 */
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper } from '../../keeper/keeper.js';
import type { MachineNode, NodeHost } from '../machine.js';
import { startDynamips } from './dynamips-process.js';
import { ghostCommands } from './router-commands.js';

/** A ghost takes as much of the disk as its image. Routers beyond so many have memories of their own. */
const MOST_GHOSTS = 32;
/** A machine that does not stop in this time makes no ghost. */
const ANSWER_MS = 3000;
/** The memory of this processor cannot be a ghost. */
const WITHOUT_GHOST = 'npe-g2';

interface GhostOptions {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  /** The folder of the ghosts. They are made anew in each life of the server. */
  readonly folder: string;
  /** The folder of the tables of Dynamips. */
  readonly tables: string;
}

/** The router for which a ghost is made, with its network. */
interface GhostUser {
  readonly node: MachineNode;
  readonly host: NodeHost;
}

export class GhostMemories {
  readonly #options: GhostOptions;
  /** The paths of the ghosts, by their images and sizes; undefined where none could be made. */
  readonly #ghosts = new Map<string, Promise<string | undefined>>();
  #emptied: Promise<void> | undefined;

  constructor(options: GhostOptions) {
    this.#options = options;
  }

  /** The path of the ghost for a router; undefined for one with a memory of its own. */
  async of(user: GhostUser, image: string): Promise<string | undefined> {
    const { properties } = user.node;
    if (properties['mmap'] !== true || properties['npe'] === WITHOUT_GHOST) return undefined;
    const version = await this.#options.files.run('versionOfImage', { path: image });
    const key = JSON.stringify([image, version, properties['platform'], properties['ram']]);
    const known = this.#ghosts.get(key);
    if (known !== undefined || this.#ghosts.size >= MOST_GHOSTS) return known;
    const made = this.#make(user, image, properties).catch(() => undefined);
    this.#ghosts.set(key, made);
    return made;
  }

  async #make({ node, host }: GhostUser, image: string, properties: Properties): Promise<string> {
    const { keeper, files, folder, tables } = this.#options;
    await (this.#emptied ??= files.run('emptyGhosts', { folder }));
    const { made, file } = await files.run('newGhostFolder', { folder });
    const { program, hypervisor } = await startDynamips(keeper, {
      id: `${node.id}/ghost`,
      projectId: node.home.id,
      tables,
      logFile: '/dev/null',
      connect: (port) => host.connect(port),
      confinement: { network: node.network, writable: [made], readable: [tables, image] },
      memo: (commandLine) => host.memo(commandLine),
    });
    try {
      await hypervisor.ask('hypervisor working_dir', [made]);
      for (const [command, ...args] of ghostCommands(properties, image, file))
        await hypervisor.ask(command, args, ANSWER_MS);
    } finally {
      hypervisor.close();
      program.kill('SIGKILL');
      await program.ended;
    }
    return files.run('keepGhost', { made });
  }
}
