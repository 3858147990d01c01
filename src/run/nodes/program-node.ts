/**
 * A node that is a program. A patch on an engine stands between its adapters and its links: at an inner port of the
 * patch is the UDP socket of an adapter for as long as the program runs, at the outer port beside it the link, for as
 * long as there is one. So links, filters and captures stay while the program comes and goes.
 */
import { join } from 'node:path';
import { messageOf, refusals } from '../../base/errors/errors.js';
import { nodeFolder } from '../../files/node-files/node-folder.js';
import type { NodeKind, ProgramKind, Properties } from '../../lab/kinds/node-kind.js';
import type { NodePort } from '../../lab/kinds/port.js';
import { portPlaces } from '../../lab/kinds/port-places.js';
import { captureOf } from '../../lab/kinds/port-types.js';
import { checkChangeWhileRunning } from '../../lab/kinds/running-changes.js';
import { nodeType } from '../../lab/gns3-file/topology-schema.js';
import type { KeptMemory, NodeStatus, RunEnd } from '../../lab/lab-run.js';
import { portOwnerOf } from '../../lab/topology/port-owner.js';
import type { ComputeServices } from '../compute-services.js';
import type { ConsoleHub } from '../consoles/console-hub.js';
import type { ProgramEnd } from '../keeper/keeper.js';
import { ComputeNode, wantedAdapters, type NewComputeNode, type NodeSettings } from './compute-node.js';
import { holdOf, keptTurn, type HeldNode, type NodeHold } from './held-nodes.js';
import { InnerPorts } from './inner-ports.js';
import { endKept, settingsOf, type KeptNode } from './kept-programs.js';
import type { Machine, NodeHost, NodeProject, Run, StopReason } from './machine.js';
import { endAtOnce, startSaved } from './program-start.js';
import { tellEnd, tellKept, tellStart } from './program-events.js';
import { ServedConsole } from './served-console.js';
import { goOn, standStill } from './suspension.js';

export class ProgramNode extends ComputeNode {
  readonly kind: ProgramKind;
  readonly folder: string;
  readonly #machine: Machine;
  #run: Run | undefined;
  readonly #inner: InnerPorts;
  #status: NodeStatus = 'stopped';
  /** A run that is being stopped, perhaps by asking its guest. */
  #stopping: Run | undefined;
  /** The settings that the run was started with. */
  #startedWith = '';
  #commandLine = '';
  readonly #console: ServedConsole;
  /** Whether it stands still for a snapshot: its status stays what it was. */
  #isHeld = false;
  readonly #used: () => void;

  constructor(home: NodeProject, kind: ProgramKind, wanted: NewComputeNode, services: ComputeServices) {
    super(home, kind, wanted, services);
    this.kind = kind;
    this.folder = nodeFolder({ node_type: nodeType.parse(kind.type), node_id: this.id });
    const { sockets, udpPorts, programs, consoles } = services;
    this.#used = services.used.bind(null, home.id);
    this.#console = new ServedConsole(this, consoles, this.#used);
    this.#inner = new InnerPorts(
      { device: this.device, sockets, udpPorts, projectId: home.id },
      (wires, path) =>
        programs.openNetwork(kind.type, wires, path).catch((error: unknown) => {
          throw refusals.nodeNotStarted(this.name, messageOf(error));
        }),
    );
    this.#machine = programs.runner(kind.type).newMachine(this);
  }

  get status(): NodeStatus {
    return this.#status;
  }

  get console(): ConsoleHub {
    return this.#console.hub;
  }

  get network(): string | undefined {
    return this.#inner.network;
  }

  /** The folder of the node; it may not exist yet. */
  get folderPath(): string {
    return join(this.home.folder, this.folder);
  }

  get commandLine(): string {
    return this.#commandLine;
  }

  /** Refuses (409, 503) a console that nobody may join. That of a program that has died is open until it is stopped. */
  checkConsole(): void {
    this.#console.check();
  }

  protected override captureOfPort(port: number): NodeKind['capture'] | undefined {
    const place = this.#places().get(port >> 1);
    return place === undefined ? undefined : captureOf(place);
  }

  install(): Promise<void> {
    return this.turn(async () => {
      await this.device.install(this.#machine.device ?? { kind: 'patch', settings: null });
      const kept = this.services.kept.take(this.id);
      if (kept !== undefined) await this.#adopt(kept);
    });
  }

  update(wanted: NodeSettings): Promise<string> {
    const { name = this.name, console_type: type, properties } = wanted;
    return this.turn(async () => {
      this.checkName(name);
      if (type !== undefined && type !== this.consoleType && this.#run !== undefined) {
        throw refusals.nodeRunsAlready(this.name, 'change the console type');
      }
      const next = this.kind.update(this.properties, properties, this.attachments.size > 0);
      const nameBefore = this.name;
      if (this.#run !== undefined) checkChangeWhileRunning(this.kind, this, { name, properties: next });
      this.properties = next;
      this.customAdapters = wantedAdapters(wanted) ?? this.customAdapters;
      this.name = name;
      const typeBefore = this.consoleType;
      this.consoleType = type ?? typeBefore;
      await this.#run?.update?.();
      if (this.#run === undefined) {
        if (name !== nameBefore) await this.#machine.renamed?.();
        const port = this.consolePort;
        this.renumberConsole(wanted);
        // People who read the last words of a program that has died are cut when its console moves.
        if (this.consolePort !== port || this.consoleType !== typeBefore) await this.#console.close();
      }
      this.changed();
      return this.text;
    });
  }

  override start(inputs: Properties = {}): Promise<void> {
    return this.turn(() => {
      this.services.intake.check();
      return tellStart(this, this.#start(inputs), this.services);
    });
  }

  /** Starts it as it ran when its memory was saved, if it was. */
  startAgain(isSuspended: boolean, memory: KeptMemory | undefined): Promise<void> {
    return this.turn(async () => {
      await tellStart(this, this.#start({}, memory), this.services);
      if (isSuspended) await this.#suspend();
    });
  }

  /** The cost of holding it; undefined when it does not run. Refuses (409) a node that cannot be held. */
  planHold(): Promise<NodeHold | undefined> {
    const { hasFilesOnly = false } = this.services.programs.runner(this.kind.type);
    return this.turn(() => holdOf(this, this.#run, this.kind.type, hasFilesOnly));
  }

  /** Does nothing else until the node that is returned is released. It has not been paused yet. */
  async hold(): Promise<HeldNode> {
    const end = await keptTurn((work) => this.turn(work));
    this.#isHeld = true;
    const { id, name, folder, status } = this;
    const release = (): void => {
      this.#isHeld = false;
      end();
    };
    return { id, name, folder, status, memory: this.#run?.memory, release };
  }

  override stop(reason: StopReason = 'asked'): Promise<void> {
    return this.turn(() => this.#stop(reason));
  }

  /** With a reason, which its console tells, the server wants it: that suspends also kinds that clients cannot suspend. */
  override suspend(reason?: string): Promise<void> {
    return this.turn(() => this.#suspend(reason));
  }

  override reload(): Promise<void> {
    return this.turn(async () => {
      this.services.intake.check();
      const isAsStarted = this.#startedWith === settingsOf(this);
      if (this.#run?.reload !== undefined && this.#status === 'started' && isAsStarted)
        return this.#run.reload();
      await this.services.room.check(this.home);
      await this.#stop('restart');
      return tellStart(this, this.#start({}), this.services);
    });
  }

  /** A node that is removed does not wait until its guest has shut down. */
  override remove(how: RunEnd): Promise<boolean> {
    void this.#stopping?.stop(how);
    return super.remove(how);
  }

  /** Cuts everybody who is at the console and empties it; the program stays. */
  resetConsole(): Promise<void> {
    return this.turn(() => {
      this.console.reset();
      return Promise.resolve();
    });
  }

  /** Does work on the files of the node while it does not run; refuses (409) when it runs. */
  whileStopped(doing: string, work: () => Promise<void>): Promise<void> {
    return this.turn(async () => {
      if (this.#run !== undefined) throw refusals.nodeRunsAlready(this.name, doing);
      await work();
    });
  }

  portAt(adapter: number, port: number): number {
    const found = [...this.#places()].find(
      ([, place]) => place.adapter_number === adapter && place.port_number === port,
    );
    if (found === undefined) throw refusals.portMissing(port);
    return 2 * found[0] + 1;
  }

  protected placeOf(port: number): { adapter_number: number; port_number: number } {
    const { adapter_number = 0, port_number = 0 } = this.#places().get(port >> 1) ?? {};
    return { adapter_number, port_number };
  }

  protected ownFields(): object {
    return { command_line: this.#commandLine, node_directory: this.folderPath };
  }

  /** Links are attached at outer ports, which are odd. */
  protected checkAttachable(port: number): void {
    if (port % 2 === 0 || !this.#places().has(port >> 1)) throw refusals.portMissing(port);
  }

  protected override async cable(port: number, isPlugged: boolean): Promise<void> {
    const index = port >> 1;
    await this.#run?.cable?.(index, isPlugged).catch((error: unknown) => {
      this.services.log.warn({ err: error, node: this.id, port: index }, 'a cable could not be moved');
    });
  }

  protected async end(): Promise<void> {
    const { log, programs } = this.services;
    const isLeft = programs.areLeft && this.#machine.adopt !== undefined && this.#run !== undefined;
    if (isLeft) this.#run = undefined;
    await this.#stop(this.leaving ?? 'closing').catch((error: unknown) => {
      log.error({ err: error, node: this.id }, 'a node that is removed could not be stopped');
    });
    this.console.close();
    if (isLeft) return;
    await Promise.resolve(this.#machine.release()).catch((error: unknown) => {
      log.error({ err: error, node: this.id }, 'the files of a removed node could not be put in order');
    });
  }

  #places(): ReadonlyMap<number, NodePort> {
    const custom_adapters = [...this.customAdapters];
    const owner = portOwnerOf({ node_id: this.id, properties: this.properties, custom_adapters }, this.kind);
    return portPlaces(this.kind, this.kind.ports(owner));
  }

  async #suspend(reason?: string): Promise<void> {
    if (this.#run === undefined || this.#status !== 'started') return;
    if (await standStill(this.#run, this.console, reason)) this.#become('suspended');
  }

  async #start(inputs: Properties, memory?: KeptMemory): Promise<void> {
    const { programs, room } = this.services;
    if (this.#status !== 'started') await room.check(this.home);
    if (this.#run !== undefined) {
      if (this.#status === 'suspended') await goOn(this.#run);
      this.#become('started');
      return;
    }
    await programs.checkStart(this.kind.type);
    await this.#machine.prepare?.(this.#host());
    await this.#unwire();
    this.console.reset();
    const settings = settingsOf(this);
    const run = await programs.startNode(this, () =>
      startSaved(this.#machine, this.#host(), memory, (fit) => this.#launch(inputs, fit)),
    );
    const end = await endAtOnce(run);
    if (end !== undefined) {
      await this.#unwire();
      throw refusals.nodeNotStarted(this.name, end);
    }
    this.#follow(run, settings);
    // A client who is told that it runs may rely on it: after a crash it runs again.
    await this.services.running.written();
  }

  /** The run is that of this node from now on. */
  #follow(run: Run, settings: string): void {
    this.#run = run;
    this.#startedWith = settings;
    this.#commandLine = run.commandLine;
    void run.ended.then((end) => {
      this.#onEnd(run, end);
    });
    this.#become(run.isSuspended === true ? 'suspended' : 'started');
  }

  /** Takes over the programs of an earlier server. The node is stopped when they cannot be. */
  async #adopt(kept: KeptNode): Promise<void> {
    const { kept: all, log } = this.services;
    try {
      await this.#inner.adopt(kept);
      if (this.#machine.adopt === undefined) throw new Error('its kind cannot be taken over');
      await this.#console.open();
      const run = await this.#machine.adopt(kept, this.#host());
      this.services.programs.count(this, run);
      this.#console.connect(run);
      this.#follow(run, kept.settings);
      tellKept(this, this.services);
      void all.over.then(() => this.turn(() => this.#pullRest(run))).catch(() => undefined);
    } catch (error) {
      log.warn({ err: error, node: this.id }, 'a program of an earlier server could not be taken over');
      await endKept(kept);
      await this.#unwire();
    }
  }

  /** Pulls the cables of a run that was taken over where the lab has no link any more. */
  async #pullRest(run: Run): Promise<void> {
    if (this.#run !== run) return;
    for (const index of this.#places().keys())
      if (!this.isPlugged(2 * index + 1)) await this.cable(2 * index + 1, false);
  }

  /** Starts the program with its adapters wired and its console open, or leaves nothing of it. */
  async #launch(inputs: Properties, memory: KeptMemory | undefined): Promise<Run> {
    if (this.leaving !== undefined) throw refusals.nodeUnknown(this.id);
    try {
      await this.#console.open();
      const { device } = this.#machine;
      if (device !== undefined) await this.device.configure(device);
      const run = await this.#machine.start(this.#host(), inputs, memory);
      this.#console.connect(run);
      return run;
    } catch (error) {
      await this.#unwire();
      throw error;
    }
  }

  #host(): NodeHost {
    return {
      openUdp: (indexes) => this.#inner.openUdp(indexes),
      memo: (commandLine, own) => ({
        ...{ project: this.home.id, commandLine, settings: settingsOf(this), own, ...this.#inner.memo },
      }),
      connect: (port) => this.services.programs.connect(this.network, port),
      attach: (index, endpoint) => this.#inner.attach(index, endpoint),
      isPlugged: (index) => this.isPlugged(2 * index + 1),
      isFarNodeUp: (index) => this.attachments.isFarNodeUp(2 * index + 1),
      statusChanged: (status) => {
        if (this.#run !== undefined && !this.#isHeld) this.#become(status);
      },
      changed: this.changed.bind(this),
      used: this.#used,
      warn: this.services.report.bind(null, this.home.id, 'warning'),
      inform: this.services.report.bind(null, this.home.id, 'info'),
    };
  }

  async #unwire(): Promise<void> {
    this.console.disconnect();
    await this.#console.close();
    await this.#inner.close();
  }

  async #stop(reason: StopReason): Promise<void> {
    const run = this.#run;
    if (run !== undefined) {
      this.#run = undefined;
      this.#stopping = run;
      await run.stop(this.leaving ?? reason);
      this.#stopping = undefined;
      this.console.disconnect();
    }
    await this.#inner.close();
    await this.#console.close();
    this.#become('stopped');
  }

  /** The program ended by itself, or something killed it. */
  #onEnd(run: Run, end: ProgramEnd): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    this.console.disconnect();
    tellEnd(this, end, run.output, this.services);
    this.#become('stopped');
    this.turn(() => this.#inner.close()).catch((error: unknown) => {
      this.services.log.error({ err: error, node: this.id }, 'the ports of a program could not be closed');
    });
  }

  #become(status: NodeStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    this.services.running.changed(this.home.id, this.id, status !== 'stopped');
    this.attachments.tellFarNodes();
    this.changed();
  }
}
