/** Dynamips routers: each is a process of Dynamips that lives while the router runs. */
import type { ConsoleReach } from '../../consoles/console-port.js';
import { isRefusal, refusals } from '../../../base/errors/errors.js';
import type { ImageLibrary } from '../../../files/images/image-library.js';
import { dynamips } from '../../../lab/kinds/dynamips.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper } from '../../keeper/keeper.js';
import type { KeptNode } from '../kept-programs.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';
import { COMMAND, makeTables } from './dynamips-process.js';
import { RouterRun, startRouter, type RouterOrder } from './router-run.js';

const MISSING: Ability = {
  isAble: false,
  why: 'the program dynamips is not installed',
  debianPackage: 'dynamips, in the component non-free',
};

interface DynamipsOptions {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly images: Pick<ImageLibrary, 'pathOf'>;
  /**
   * The folder of the tables that Dynamips makes once and reads from then on. No client may write there: the program
   * trusts them.
   */
  readonly tables: string;
  readonly consoles: ConsoleReach;
}

export class DynamipsRunner implements ProgramRunner {
  readonly kind = dynamips;
  readonly confinement = { network: 'own' } as const;
  readonly #options: DynamipsOptions;
  readonly #runs = new Map<string, RouterRun>();
  #tables: Promise<void> | undefined;

  constructor(options: DynamipsOptions) {
    this.#options = options;
  }

  async probe(): Promise<Ability> {
    const isThere = await this.#options.files.run('hasProgram', { name: COMMAND }).catch(() => false);
    return isThere ? { isAble: true } : MISSING;
  }

  newMachine(node: MachineNode): Machine {
    return new DynamipsMachine(node, this.#options, this.#runs, () => this.#makeTables());
  }

  /** Once in the life of the server: another version of the program has other tables. */
  #makeTables(): Promise<void> {
    const { keeper, tables } = this.#options;
    this.#tables ??= makeTables(keeper, tables).catch((error: unknown) => {
      this.#tables = undefined;
      throw error;
    });
    return this.#tables;
  }

  /** The run of a router, by the id of its node. */
  runOf(nodeId: string): RouterRun | undefined {
    return this.#runs.get(nodeId);
  }
}

class DynamipsMachine implements Machine {
  readonly #node: MachineNode;
  readonly #options: DynamipsOptions;
  readonly #runs: Map<string, RouterRun>;
  readonly #makeTables: () => Promise<void>;

  constructor(
    node: MachineNode,
    options: DynamipsOptions,
    runs: Map<string, RouterRun>,
    makeTables: () => Promise<void>,
  ) {
    this.#node = node;
    this.#options = options;
    this.#runs = runs;
    this.#makeTables = makeTables;
  }

  async start(host: NodeHost): Promise<Run> {
    const { files, images } = this.#options;
    const { name, properties } = this.#node;
    const image = await images.pathOf('dynamips', String(properties['image']));
    if (!(await files.run('isRouterImage', { path: image }).catch(() => false)))
      throw refusals.nodeNotStarted(
        name,
        `${image} is no image of a router: it must be an unpacked IOS image (ELF, 32 bits, big-endian)`,
      );
    const run = await startRouter(this.#order(host), image).catch((error: unknown) => {
      throw isRefusal(error) ? error : refusals.nodeNotStarted(name, messageOf(error));
    });
    return this.#known(run);
  }

  async adopt(kept: KeptNode, host: NodeHost): Promise<Run> {
    return this.#known(await RouterRun.adopt(this.#order(host), kept));
  }

  #order(host: NodeHost): RouterOrder {
    return {
      ...this.#options,
      ...{ node: this.#node, host, number: this.#number, makeTables: this.#makeTables },
    };
  }

  /** The tools of Dynamips find the run by its node. */
  #known(run: RouterRun): RouterRun {
    const { id } = this.#node;
    this.#runs.set(id, run);
    void run.ended.then(() => {
      if (this.#runs.get(id) === run) this.#runs.delete(id);
    });
    return run;
  }

  async renamed(): Promise<void> {
    const { name, home, folder } = this.#node;
    const { files } = this.#options;
    await files.run('nameRouter', { root: home.folder, folder, number: this.#number, name });
  }

  /** The disks of a router that is to forget go when its project is closed. */
  async release(): Promise<void> {
    const { home, folder, properties } = this.#node;
    if (properties['auto_delete_disks'] !== true) return;
    await this.#options.files.run('sweepRouter', { root: home.folder, folder, disks: true });
  }

  get #number(): number {
    const number = this.#node.properties['dynamips_id'];
    return typeof number === 'number' ? number : 1;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
