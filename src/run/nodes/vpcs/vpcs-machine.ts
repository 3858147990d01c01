/** Virtual PCs: each is a process of the program VPCS in a terminal. */
import { refusals } from '../../../base/errors/errors.js';
import { NumberPool } from '../../../lab/number-pool.js';
import { numberAmongHosts, STARTUP_SCRIPT, vpcs } from '../../../lab/kinds/vpcs.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import { endProgram, outputOf } from '../keeper-programs.js';
import type { KeptNode } from '../kept-programs.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';

const COMMAND = 'vpcs';
const MOST_IN_PROJECT = vpcs.mostInProject ?? 0;
/** `-R` (no relay of packets of others) is an option from 0.8b on. */
const FIRST_WITHOUT_RELAY = [0, 8] as const;
const MISSING: Ability = { isAble: false, why: 'the program vpcs is not installed', debianPackage: 'vpcs' };

interface VpcsOptions {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
}

export class VpcsRunner implements ProgramRunner {
  readonly kind = vpcs;
  readonly confinement = { network: 'own' } as const;
  readonly hasFilesOnly = true;
  readonly #options: VpcsOptions;
  #relaySwitch: Promise<readonly string[]> | undefined;
  readonly #numbers = new Map<string, { readonly free: NumberPool; taken: number }>();

  constructor(options: VpcsOptions) {
    this.#options = options;
  }

  async probe(): Promise<Ability> {
    const isThere = await this.#options.files.run('hasProgram', { name: COMMAND }).catch(() => false);
    return isThere ? { isAble: true } : MISSING;
  }

  newMachine(node: MachineNode): Machine {
    const numbers = this.#numbers.get(node.home.id) ?? {
      ...{ free: new NumberPool([0, MOST_IN_PROJECT - 1]), taken: 0 },
    };
    const number = numbers.free.reserve(node.home.isOfOthers === true ? numberAmongHosts(node.id) : null);
    if (number === null) throw refusals.tooMany('nodes of type vpcs in this project', MOST_IN_PROJECT);
    numbers.taken++;
    this.#numbers.set(node.home.id, numbers);
    const release = (): void => {
      numbers.free.release(number);
      if (--numbers.taken === 0) this.#numbers.delete(node.home.id);
    };
    return new VpcsMachine(node, number, this.#options, () => this.#switches(), release);
  }

  /** The switch that keeps VPCS from passing on packets of others, where it has one. The program is asked once. */
  #switches(): Promise<readonly string[]> {
    this.#relaySwitch ??= relaySwitch(this.#options.keeper);
    return this.#relaySwitch;
  }
}

class VpcsMachine implements Machine {
  readonly release: () => void;
  readonly #node: MachineNode;
  readonly #number: number;
  readonly #options: VpcsOptions;
  readonly #switches: () => Promise<readonly string[]>;

  constructor(
    node: MachineNode,
    number: number,
    options: VpcsOptions,
    switches: () => Promise<readonly string[]>,
    release: () => void,
  ) {
    this.#node = node;
    this.#number = number;
    this.#options = options;
    this.#switches = switches;
    this.release = release;
  }

  async start(host: NodeHost): Promise<Run> {
    const { id, name, home, folder: path } = this.#node;
    const { keeper, files } = this.#options;
    const { folder, hasScript } = await files.run('prepareVpcs', { root: home.folder, folder: path, name });
    const [wire] = await host.openUdp([0]);
    if (wire === undefined) throw new Error('a virtual PC has one adapter');
    const args = [
      ...['-i', '1', '-m', String(this.#number), ...(await this.#switches())],
      ...['-s', String(wire.programPort), '-c', String(wire.enginePort), '-t', '127.0.0.1'],
      ...(hasScript ? [STARTUP_SCRIPT] : []),
    ];
    const commandLine = [COMMAND, ...args].join(' ');
    const program = await keeper
      .spawn({
        ...{ id, command: COMMAND, args, folder, environment: {}, console: 'terminal' },
        project: home.id,
        confinement: { network: this.#node.network, writable: [folder], readable: [] },
        memo: host.memo(commandLine),
      })
      .catch((error: unknown) => {
        throw refusals.nodeNotStarted(name, error instanceof Error ? error.message : String(error));
      });
    return runOf(program, commandLine);
  }

  adopt({ programs: [program], commandLine }: KeptNode): Promise<Run> {
    // An earlier server may have let it stand still.
    program.kill('SIGCONT');
    return Promise.resolve(runOf(program, commandLine));
  }
}

function runOf(program: Program, commandLine: string): Run {
  return {
    commandLine,
    ended: program.ended,
    get output() {
      return program.output;
    },
    console: program,
    haltable: program,
    stop: () => endProgram(program),
  };
}

async function relaySwitch(keeper: Keeper): Promise<readonly string[]> {
  const printed = await outputOf(keeper, { command: COMMAND, args: ['-v'], console: 'terminal' });
  const [, version = ''] = /version ([0-9][0-9a-z.]*)/.exec(printed ?? '') ?? [];
  const [major = 0, minor = 0] = version.split('.').map((part) => parseInt(part, 10));
  const [firstMajor, firstMinor] = FIRST_WITHOUT_RELAY;
  return major > firstMajor || (major === firstMajor && minor >= firstMinor) ? ['-R'] : [];
}
