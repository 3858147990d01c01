/**
 * A node that is a program. A patch on an engine stands between its adapters and its links: at an inner port of the
 * patch is the UDP socket of an adapter for as long as the program runs, at the outer port beside it the link, for as
 * long as there is one. So links, filters and captures stay while the program comes and goes.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, refusals, systemCode } from '../../base/errors/errors.js';
import { nodeFolder } from '../../files/node-files/node-folder.js';
import type { NodeKind, ProgramKind, Properties } from '../../lab/kinds/node-kind.js';
import type { NodePort } from '../../lab/kinds/port.js';
import { captureOf } from '../../lab/kinds/port-types.js';
import { checkChangeWhileRunning } from '../../lab/kinds/running-changes.js';
import { nodeType } from '../../lab/gns3-file/topology-schema.js';
import type { NodeStatus } from '../../lab/lab-run.js';
import { portOwnerOf } from '../../lab/topology/port-owner.js';
import type { ComputeServices } from '../compute-services.js';
import { ConsoleHub } from '../consoles/console-hub.js';
import { SocketRelay } from '../consoles/socket-relay.js';
import { TelnetListener } from '../consoles/telnet-listener.js';
import type { ProgramEnd } from '../keeper/keeper.js';
import { ComputeNode, wantedAdapters, type NewComputeNode, type NodeSettings } from './compute-node.js';
import { InnerPorts } from './inner-ports.js';
import type { KeptNode } from './kept-programs.js';
import type { Machine, NodeHost, NodeProject, Run } from './machine.js';
import { lastLines } from './printed-text.js';

/** A program that ends within so many milliseconds could not be started. */
const ALIVE_MS = 50;

export class ProgramNode extends ComputeNode {
  readonly kind: ProgramKind;
  readonly console = new ConsoleHub();
  readonly folder: string;
  readonly #machine: Machine;
  #run: Run | undefined;
  readonly #inner: InnerPorts;
  /** The ports of the node at which there is a link that is not suspended. */
  readonly #plugged = new Set<number>();
  #status: NodeStatus = 'stopped';
  /** A run that is being stopped, perhaps by asking its guest. */
  #stopping: Run | undefined;
  /** The settings that the run was started with. */
  #startedWith = '';
  #commandLine = '';
  /** Listens from a start to a stop, also when the program has died meanwhile: its last words can be read. */
  #listener: TelnetListener | SocketRelay | undefined;

  constructor(home: NodeProject, kind: ProgramKind, wanted: NewComputeNode, services: ComputeServices) {
    super(home, kind, wanted, services);
    this.kind = kind;
    this.folder = nodeFolder({ node_type: nodeType.parse(kind.type), node_id: this.id });
    const { sockets, udpPorts, programs } = services;
    this.#inner = new InnerPorts(
      { device: this.device, sockets, udpPorts, projectId: home.id },
      (wires, left) =>
        programs.openNetwork(kind.type, wires, left).catch((error: unknown) => {
          throw refusals.nodeNotStarted(this.name, messageOf(error));
        }),
    );
    this.#machine = programs.runner(kind.type).newMachine(this);
  }

  get status(): NodeStatus {
    return this.#status;
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

  /** Refuses (409) a console that nobody may join. That of a program that has died is open until it is stopped. */
  checkConsole(): void {
    if (this.consoleType !== 'telnet') throw refusals.consoleMissing(this.name, 'telnet');
    if (this.#listener === undefined) throw refusals.consoleClosed(this.name);
  }

  protected override captureOfPort(port: number): NodeKind['capture'] | undefined {
    const place = this.#places()[port >> 1];
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
        if (this.consolePort !== port || this.consoleType !== typeBefore) await this.#closeConsole();
      }
      this.changed();
      return this.text;
    });
  }

  override start(inputs: Properties = {}): Promise<void> {
    return this.turn(() => this.#start(inputs));
  }

  override stop(): Promise<void> {
    return this.turn(() => this.#stop('asked'));
  }

  override suspend(): Promise<void> {
    return this.turn(async () => {
      if (this.#run?.suspend === undefined || this.#status !== 'started') return;
      await this.#run.suspend();
      this.#become('suspended');
    });
  }

  override reload(): Promise<void> {
    return this.turn(async () => {
      const isAsStarted = this.#startedWith === this.#settings;
      if (this.#run?.reload !== undefined && this.#status === 'started' && isAsStarted) {
        await this.#run.reload();
        return;
      }
      await this.#stop('asked');
      await this.#start({});
    });
  }

  /** A node that is removed does not wait until its guest has shut down. */
  override remove(): Promise<boolean> {
    void this.#stopping?.stop('closing');
    return super.remove();
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
    const index = this.#places().findIndex(
      (place) => place.adapter_number === adapter && place.port_number === port,
    );
    if (index < 0) throw refusals.portMissing(port);
    return 2 * index + 1;
  }

  protected placeOf(port: number): { adapter_number: number; port_number: number } {
    const { adapter_number = 0, port_number = 0 } = this.#places()[port >> 1] ?? {};
    return { adapter_number, port_number };
  }

  protected ownFields(): object {
    return { command_line: this.#commandLine, node_directory: this.folderPath };
  }

  /** Links are attached at outer ports, which are odd. */
  protected checkAttachable(port: number): void {
    if (port % 2 === 0 || port >> 1 >= this.#places().length) throw refusals.portMissing(port);
  }

  protected override async cable(port: number, isPlugged: boolean): Promise<void> {
    const index = port >> 1;
    if (isPlugged) this.#plugged.add(index);
    else this.#plugged.delete(index);
    await this.#run?.cable?.(index, isPlugged).catch((error: unknown) => {
      this.services.log.warn({ err: error, node: this.id, port: index }, 'a cable could not be moved');
    });
  }

  protected async end(): Promise<void> {
    if (this.services.programs.areLeft && this.#machine.adopt !== undefined) this.#run = undefined;
    await this.#stop('closing').catch((error: unknown) => {
      this.services.log.error({ err: error, node: this.id }, 'a node that is removed could not be stopped');
    });
    this.console.close();
    await Promise.resolve(this.#machine.release()).catch((error: unknown) => {
      this.services.log.error(
        { err: error, node: this.id },
        'the files of a removed node could not be put in order',
      );
    });
  }

  #places(): readonly NodePort[] {
    const custom_adapters = [...this.customAdapters];
    return this.kind.ports(
      portOwnerOf({ node_id: this.id, properties: this.properties, custom_adapters }, this.kind),
    );
  }

  /** The settings that a program takes when it is started, as text. */
  get #settings(): string {
    return JSON.stringify([this.properties, this.customAdapters]);
  }

  async #start(inputs: Properties): Promise<void> {
    const { programs } = this.services;
    if (this.#run !== undefined) {
      if (this.#status === 'suspended') await this.#run.resume?.();
      this.#become('started');
      return;
    }
    await programs.checkStart(this.kind.type);
    await this.#machine.prepare?.(this.#host());
    await this.#closeConsole();
    await this.#inner.close();
    this.console.reset();
    const settings = this.#settings;
    const run = await programs.start(this.kind.type, this.home.id, () => this.#launch(inputs));
    await this.#checkAlive(run);
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
    this.#become('started');
  }

  /** Takes over the programs of an earlier server. The node is stopped when they cannot be. */
  async #adopt(kept: KeptNode): Promise<void> {
    const { services } = this;
    try {
      await this.#inner.openWires(kept.wires, kept.programs[0]);
      if (this.#machine.adopt === undefined) throw new Error('its kind cannot be taken over');
      await this.#openConsole();
      const run = await this.#machine.adopt(kept, this.#host());
      if (this.#listener instanceof SocketRelay) this.#listener.path = run.consoleSocket;
      this.#connectConsole(run);
      this.#follow(run, this.#settings);
    } catch (error) {
      services.log.warn(
        { err: error, node: this.id },
        'a program of an earlier server could not be taken over',
      );
      for (const program of kept.programs) program.kill('SIGKILL');
      await this.#unwire();
    }
  }

  /** Starts the program with its adapters wired and its console open, or leaves nothing of it. */
  async #launch(inputs: Properties): Promise<Run> {
    if (this.isLeaving) throw refusals.nodeUnknown(this.id);
    try {
      await this.#openConsole();
      const { device } = this.#machine;
      if (device !== undefined) await this.device.configure(device);
      const run = await this.#machine.start(this.#host(), inputs);
      if (this.#listener instanceof SocketRelay) this.#listener.path = run.consoleSocket;
      this.#connectConsole(run);
      return run;
    } catch (error) {
      await this.#unwire();
      throw error;
    }
  }

  #connectConsole({ console: source }: Run): void {
    if (source === undefined) return;
    this.console.connect(source);
    this.console.printed(source.output);
    source.listen((bytes) => {
      this.console.printed(bytes);
    });
  }

  #host(): NodeHost {
    return {
      openUdp: (indexes) => this.#inner.openUdp(indexes),
      memo: (commandLine) => ({ project: this.home.id, commandLine, wires: this.#inner.wires }),
      attach: (index, endpoint) => this.#inner.attach(index, endpoint),
      isPlugged: (index) => this.#plugged.has(index),
      statusChanged: (status) => {
        if (this.#run !== undefined) this.#become(status);
      },
      changed: this.changed.bind(this),
      warn: this.services.report.bind(null, this.home.id, 'warning'),
      inform: this.services.report.bind(null, this.home.id, 'info'),
    };
  }

  /** Refuses (409) a program that ends at once, with what it printed. */
  async #checkAlive(run: Run): Promise<void> {
    const end = await Promise.race([run.ended, delay(ALIVE_MS)]);
    if (end === undefined) return;
    await this.#unwire();
    throw refusals.nodeNotStarted(this.name, lastWords(end, run));
  }

  async #unwire(): Promise<void> {
    this.console.disconnect();
    await this.#closeConsole();
    await this.#inner.close();
  }

  async #stop(reason: 'asked' | 'closing'): Promise<void> {
    const run = this.#run;
    if (run !== undefined) {
      this.#run = undefined;
      this.#stopping = run;
      await run.stop(this.isLeaving ? 'closing' : reason);
      this.#stopping = undefined;
      this.console.disconnect();
    }
    await this.#inner.close();
    await this.#closeConsole();
    this.#become('stopped');
  }

  /** The program ended by itself, or something killed it. */
  #onEnd(run: Run, end: ProgramEnd): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    this.console.disconnect();
    if (end.code !== 0)
      this.services.report(this.home.id, 'error', `${this.name} ended: ${lastWords(end, run)}`);
    this.#become('stopped');
    this.turn(() => this.#inner.close()).catch((error: unknown) => {
      this.services.log.error({ err: error, node: this.id }, 'the ports of a program could not be closed');
    });
  }

  #become(status: NodeStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    this.services.running.changed(this.home.id, this.id, status !== 'stopped');
    this.changed();
  }

  async #openConsole(): Promise<void> {
    const { consoleType: type, consolePort: port } = this;
    if (type === undefined || type === 'none' || port === null) return;
    const place = { host: this.services.consoleHost, port };
    const listener = type === 'telnet' ? new TelnetListener(this.console, place) : new SocketRelay(place);
    try {
      await listener.listen();
    } catch (error) {
      throw refusals.consoleNotOpened(this.name, port, systemCode(error) ?? String(error));
    }
    this.#listener = listener;
  }

  async #closeConsole(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.close();
  }
}

function lastWords({ code, signal }: ProgramEnd, run: Run): string {
  const how = signal === null ? `status ${code ?? 'unknown'}` : `signal ${signal}`;
  const text = lastLines(run.output);
  return text === '' ? `${how}, without a word` : `${how}\n${text}`;
}
