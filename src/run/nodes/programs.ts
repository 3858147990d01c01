/** The kinds of node that are programs: which of them this host can run, and the queue of nodes that start. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { refusals } from '../../base/errors/errors.js';
import type { NodeKind } from '../../lab/kinds/node-kind.js';
import { FairTurns } from '../../base/threads/fair-turns.js';
import type { ProgramKind } from '../../lab/kinds/node-kind.js';
import type { Claims } from '../../lab/quotas/quotas.js';
import type { Amounts } from '../../lab/quotas/resources.js';
import type { Confinement, NodeNetwork } from './confinement.js';
import type { AdapterWire } from '../links/udp-ports.js';
import type { Ability, MachineNode, ProgramRunner, Run } from './machine.js';

/** A kind that was not able is probed again when it is asked for, at most so often. */
const PROBE_AGAIN_MS = 1000;
/** A request for all kinds does not wait longer for what does not answer, such as an engine of containers that hangs. */
const LONGEST_PROBE_MS = 2000;
const AT_ONCE = availableParallelism() + 1;
const MOST_WAITING = 10_000;
const MEBI = 1024 * 1024;

/** A kind of node that takes programs of this host. */
interface ProbedKind extends Pick<ProgramRunner, 'probe' | 'confinement'> {
  readonly kind: Pick<NodeKind, 'type'>;
}

/** A node that is a program, as quotas see it. */
interface CountedNode extends Pick<MachineNode, 'home' | 'properties'> {
  readonly kind: ProgramKind;
}

interface Probe {
  readonly ability: Promise<Ability>;
  readonly at: number;
}

interface ProgramsOptions {
  readonly runners: readonly ProgramRunner[];
  /** Whether programs start that nothing confines. */
  readonly mayBeUnconfined: boolean;
  /** Without it no program is confined. */
  readonly confinement?: Confinement;
  readonly quotas: Claims;
  /** Kinds that are no programs and take some. */
  readonly others?: readonly ProbedKind[];
}

export class Programs {
  readonly #runners: ReadonlyMap<string, ProgramRunner>;
  readonly #probed: ReadonlyMap<string, ProbedKind>;
  readonly #quotas: Claims;
  readonly #mayBeUnconfined: boolean;
  readonly #confinement: Confinement | undefined;
  #areLeft = false;
  readonly #probes = new Map<string, Probe>();
  readonly #starts = new FairTurns({
    atOnce: AT_ONCE,
    atOnceOfOne: AT_ONCE,
    mostWaiting: MOST_WAITING,
    mostWaitingOfOne: MOST_WAITING,
  });

  constructor({ runners, quotas, mayBeUnconfined, confinement, others = [] }: ProgramsOptions) {
    this.#quotas = quotas;
    this.#mayBeUnconfined = mayBeUnconfined;
    this.#confinement = confinement;
    this.#probed = new Map([...runners, ...others].map((probed) => [probed.kind.type, probed]));
    this.#runners = new Map(runners.map((runner) => [runner.kind.type, runner]));
  }

  runner(type: string): ProgramRunner {
    const runner = this.#runners.get(type);
    if (runner === undefined) throw new Error(`nothing runs nodes of the kind ${type}`);
    return runner;
  }

  /** The kinds that this host cannot run, as far as that is known within two seconds. */
  async unableKinds(): Promise<string[]> {
    const kinds = [...this.#probed];
    const late = delay(LONGEST_PROBE_MS, undefined, { ref: false });
    const abilities = await Promise.all(
      kinds.map(([type, probed]) => Promise.race([this.#abilityOf(type, probed), late])),
    );
    return kinds.flatMap(([type], index) => (abilities[index]?.isAble === true ? [] : [type]));
  }

  /** Refuses (409) a kind that this host cannot run, with the reason and the package that it lacks. */
  async check(type: string): Promise<void> {
    const probed = this.#probed.get(type);
    if (probed === undefined) return;
    const ability = await this.#abilityOf(type, probed);
    if (!ability.isAble) throw refusals.nodeKindNotAble(type, ability.why, ability.debianPackage);
  }

  /** Refuses (409) a kind whose nodes may not start here, or that this host cannot run. */
  async checkStart(type: string): Promise<void> {
    if (!this.#mayBeUnconfined && !(await this.#isConfined(type))) {
      const isHopeless = this.#probed.get(type)?.confinement === undefined;
      throw isHopeless ? refusals.kindUnconfined(type) : refusals.programsUnconfined();
    }
    await this.check(type);
  }

  /** Starts a node of the kind in its turn: so many nodes start at once, and the owners of projects take turns. */
  async start<Result>(type: string, projectId: string, start: () => Promise<Result>): Promise<Result> {
    await this.checkStart(type);
    const [owner = projectId] = this.#quotas.ownersOf(projectId);
    return this.#starts.run(owner, start);
  }

  /** Starts a node, which counts for the quotas until its run has ended. Refuses (409) one that is too many. */
  async startNode(node: CountedNode, start: () => Promise<Run>): Promise<Run> {
    const giveBack = this.#quotas.claim(node.home.id, loadOf(node));
    try {
      const run = await this.start(node.kind.type, node.home.id, start);
      void run.ended.then(giveBack);
      return run;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** Counts a node that an earlier server has started. */
  count(node: CountedNode, run: Run): void {
    void run.ended.then(this.#quotas.take(node.home.id, loadOf(node)));
  }

  /**
   * The network of a node of the kind, with the engine's ends of its wires; undefined when it has that of the host. The
   * path is that of a network which is there.
   */
  async openNetwork(
    type: string,
    wires: readonly AdapterWire[],
    path?: string,
  ): Promise<NodeNetwork | undefined> {
    const isOwn = this.runner(type).confinement?.network === 'own';
    return isOwn ? this.#confinement?.openNetwork(wires, path) : undefined;
  }

  /** A connection to a TCP port of the loopback of this network, or of the host. */
  async connect(network: string | undefined, port: number): Promise<Socket> {
    if (network !== undefined && this.#confinement !== undefined)
      return this.#confinement.connect(network, port);
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    return socket;
  }

  /** Whether the server ends and leaves the programs to the next one. */
  get areLeft(): boolean {
    return this.#areLeft;
  }

  /** Refuses (503) starts that wait. With `leaves`, nodes that end from now on leave their programs to the next server. */
  close(leaves: boolean): void {
    this.#areLeft = leaves;
    this.#starts.close();
  }

  async #isConfined(type: string): Promise<boolean> {
    const confinement = this.#confinement;
    if (confinement === undefined || this.#probed.get(type)?.confinement === undefined) return false;
    return (await confinement.problem()) === undefined;
  }

  async #abilityOf(type: string, probed: ProbedKind): Promise<Ability> {
    const last = this.#probes.get(type);
    if (last !== undefined) {
      const ability = await last.ability;
      if (ability.isAble || performance.now() - last.at < PROBE_AGAIN_MS) return ability;
    }
    const now = this.#probes.get(type);
    if (now !== undefined && now !== last) return now.ability;
    const probe = { ability: probed.probe(), at: performance.now() };
    this.#probes.set(type, probe);
    return probe.ability;
  }
}

function loadOf({ kind, properties }: CountedNode): Amounts {
  const { memoryMib = 0, processors = 0 } = kind.load?.(properties) ?? {};
  return { running: 1, memory: memoryMib * MEBI, processors };
}
