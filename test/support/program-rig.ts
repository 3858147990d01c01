/** A node that is a program, for tests: the real node and the real keeper around any command. */
import { join } from 'node:path';
import { pino } from 'pino';
import { Intake } from '../../src/base/intake.js';
import type { BpfCompiler } from '../../src/engine/bpf/bpf-compiler.js';
import type { HostSockets } from '../../src/engine/sockets/host-sockets.js';
import { Channel } from '../../src/base/streams/channel.js';
import { ConsolePorts } from '../../src/lab/console-ports.js';
import type { ProgramKind } from '../../src/lab/kinds/node-kind.js';
import { vpcs } from '../../src/lab/kinds/vpcs.js';
import type { ComputeServices } from '../../src/run/compute-services.js';
import type { ComputeFiles } from '../../src/run/files.js';
import { FilterPlans } from '../../src/run/nodes/filter-plans.js';
import { Keeper } from '../../src/run/keeper/keeper.js';
import { LinkEnds } from '../../src/run/links/link-ends.js';
import { NioSockets } from '../../src/run/links/nio-sockets.js';
import { UdpPorts } from '../../src/run/links/udp-ports.js';
import { KeptPrograms } from '../../src/run/nodes/kept-programs.js';
import { ProjectRoom } from '../../src/run/project-room.js';
import { RunningNodes } from '../../src/run/running-nodes.js';
import { SavedStates } from '../../src/run/saved-states.js';
import { FakeStore } from './fake-store.js';
import { endProgram } from '../../src/run/nodes/keeper-programs.js';
import type { Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../../src/run/nodes/machine.js';
import { NatWays } from '../../src/run/nodes/nat/nat-ways.js';
import { ProgramNode } from '../../src/run/nodes/program-node.js';
import { Programs } from '../../src/run/nodes/programs.js';
import type { LiveEngine } from './live-engine.js';
import { scratchFolder, type Teardown } from './scratch.js';
import { idOf } from './stored-objects.js';
import { NO_QUOTAS } from './no-quotas.js';
import { udpReach } from './udp-reach.js';

/** Two ports, so that a test can tell them apart. */
const KIND: ProgramKind = {
  ...vpcs,
  consoleTypes: ['none'],
  ports: (owner) =>
    [0, 1].flatMap((adapter) => vpcs.ports(owner).map((port) => ({ ...port, adapter_number: adapter }))),
};

class CommandMachine implements Machine {
  readonly #node: MachineNode;
  readonly #keeper: Keeper;
  readonly #command: readonly [string, ...string[]];

  constructor(node: MachineNode, keeper: Keeper, command: readonly [string, ...string[]]) {
    this.#node = node;
    this.#keeper = keeper;
    this.#command = command;
  }

  async start(host: NodeHost): Promise<Run> {
    await host.openUdp([0, 1]);
    const [command, ...args] = this.#command;
    const how = { command, args, folder: '/', environment: {}, niceness: 0, console: 'pipes' } as const;
    const program = await this.#keeper.spawn({ ...how, id: this.#node.id, memo: null });
    return {
      commandLine: this.#command.join(' '),
      ended: program.ended,
      get output() {
        return program.output;
      },
      console: program,
      stop: () => endProgram(program),
      suspend: () => Promise.resolve(),
      resume: () => Promise.resolve(),
    };
  }

  release(): void {
    // It has nothing to give back.
  }
}

export class ProgramRig {
  readonly keeper: Keeper;
  /** The messages that listeners of the project were told. */
  readonly reports: string[] = [];
  changes = 0;
  readonly #sockets: HostSockets;
  readonly #engine: LiveEngine;
  #started: Promise<unknown> | undefined;
  #nodes = 0;

  constructor(t: Teardown, sockets: HostSockets, engine: LiveEngine) {
    this.#sockets = sockets;
    this.#engine = engine;
    this.keeper = new Keeper({
      folder: join(scratchFolder(t), 'run'),
      mark: `test-${process.pid}`,
      graceSeconds: 0,
      log: pino({ level: 'silent' }),
      onLost: () => undefined,
    });
    t.teardown(() => this.keeper.close());
  }

  async node(t: Teardown, ...command: readonly [string, ...string[]]): Promise<ProgramNode> {
    this.#started ??= this.keeper.start();
    await this.#started;
    const runner: ProgramRunner = {
      kind: KIND,
      probe: () => Promise.resolve({ isAble: true }),
      newMachine: (node) => new CommandMachine(node, this.keeper, command),
    };
    const home = { id: idOf(1), name: 'lab', folder: '/nowhere' };
    const wanted = { node_id: idOf(100 + ++this.#nodes), name: 'P1', properties: {} };
    const node = new ProgramNode(home, KIND, wanted, this.#services(runner));
    await node.install();
    t.teardown(() => node.remove('removed'));
    return node;
  }

  #services(runner: ProgramRunner): ComputeServices {
    const files: ComputeFiles = { run: () => Promise.reject(new Error('no file is needed')) };
    const { opener } = this.#sockets;
    const udpPorts = new UdpPorts([20_000, 20_099], (port) => opener.isFree(port));
    const compiler: Pick<BpfCompiler, 'compile'> = {
      compile: () => Promise.reject(new Error('there are no expressions')),
    };
    return {
      channel: new Channel(),
      consolePorts: new ConsolePorts([5000, 5010]),
      udpPorts,
      sockets: new NioSockets({ opener, files, reach: udpReach(), interfaces: new Set() }),
      linkEnds: new LinkEnds(),
      filterPlans: new FilterPlans(compiler as BpfCompiler),
      refusesBadHec: false,
      log: pino({ level: 'silent' }),
      newDevice: () => this.#engine.newDevice(),
      files,
      archives: { run: () => Promise.reject(new Error('no folder is copied')) },
      programs: new Programs({ quotas: NO_QUOTAS, runners: [runner], mayBeUnconfined: true }),
      kept: new KeptPrograms(udpPorts),
      room: new ProjectRoom({
        ...{ files, quotas: NO_QUOTAS, folder: '/', known: () => [], floor: () => 0 },
        ...{ warn: () => undefined, remember: () => undefined },
      }),
      running: new RunningNodes({ store: new FakeStore(), log: pino({ level: 'silent' }), now: () => 0 }),
      savedStates: new SavedStates(new FakeStore()),
      nat: new NatWays({ keeper: this.keeper, files, interfaces: new Set() }),
      consoles: { host: '127.0.0.1', serves: () => true },
      nodeChanged: () => {
        this.changes++;
      },
      intake: new Intake(),
      remember: () => undefined,
      used: () => undefined,
      report: (_project, _level, message) => {
        this.reports.push(message);
      },
    };
  }
}
