/**
 * A node that is a program. A patch on an engine stands between its adapters and its links: at an inner port of the
 * patch is the UDP socket of an adapter for as long as the program runs, at the outer port beside it the link, for as
 * long as there is one. So links, filters and captures stay while the program comes and goes.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { refusals, systemCode } from '../../base/errors/errors.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import { nodeFolder } from '../../files/node-files/node-folder.js';
import type { ProgramKind } from '../../lab/kinds/node-kind.js';
import { nodeType } from '../../lab/gns3-file/topology-schema.js';
import type { NodeStatus } from '../../lab/lab-run.js';
import { portOwnerOf } from '../../lab/topology/port-owner.js';
import type { ComputeServices } from '../compute-services.js';
import { ConsoleHub } from '../consoles/console-hub.js';
import { TelnetListener } from '../consoles/telnet-listener.js';
import type { ProgramEnd } from '../keeper/keeper.js';
import { ComputeNode, type NewComputeNode, type NodeSettings } from './compute-node.js';
import type { AdapterWire, Machine, NodeProject, Started } from './machine.js';
import { lastLines } from './printed-text.js';

/** A program that ends within so many milliseconds could not be started. */
const ALIVE_MS = 50;

/** An adapter of a program that runs, wired to the inner port of the patch. */
interface InnerPort extends AdapterWire {
  readonly port: number;
  readonly endpoint: PortEndpoint;
}

export class ProgramNode extends ComputeNode {
  readonly kind: ProgramKind;
  readonly console = new ConsoleHub();
  readonly folder: string;
  readonly #machine: Machine;
  #run: Started | undefined;
  #inner: InnerPort[] = [];
  #status: NodeStatus = 'stopped';
  #commandLine = '';
  /** Listens from a start to a stop, also when the program has died meanwhile: its last words can be read. */
  #telnet: TelnetListener | undefined;

  constructor(home: NodeProject, kind: ProgramKind, wanted: NewComputeNode, services: ComputeServices) {
    super(home, kind, wanted, services);
    this.kind = kind;
    this.folder = nodeFolder({ node_type: nodeType.parse(kind.type), node_id: this.id });
    this.#machine = services.programs.runner(kind.type).newMachine(this);
  }

  get status(): NodeStatus {
    return this.#status;
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
    if (this.#telnet === undefined) throw refusals.consoleClosed(this.name);
  }

  install(): Promise<void> {
    return this.turn(() => this.device.install({ kind: 'patch', settings: null }));
  }

  update(wanted: NodeSettings): Promise<string> {
    const { name = this.name, console_type: type, properties } = wanted;
    return this.turn(async () => {
      this.checkName(name);
      if (type !== undefined && type !== this.consoleType && this.#run !== undefined) {
        throw refusals.nodeRunsAlready(this.name, 'change the console type');
      }
      this.properties = this.kind.update(this.properties, properties, this.attachments.size > 0);
      this.name = name;
      this.consoleType = type ?? this.consoleType;
      if (this.#run === undefined) {
        const before = this.consolePort;
        this.renumberConsole(wanted);
        // People who read the last words of a program that has died are cut when its console moves.
        if (this.consolePort !== before || this.consoleType !== 'telnet') await this.#closeTelnet();
      }
      this.changed();
      return this.text;
    });
  }

  override start(): Promise<void> {
    return this.turn(() => this.#start());
  }

  override stop(): Promise<void> {
    return this.turn(() => this.#stop());
  }

  override suspend(): Promise<void> {
    return this.turn(async () => {
      if (this.#run === undefined || this.#status !== 'started' || this.#machine.suspend === undefined)
        return;
      await this.#machine.suspend(this.#run);
      this.#become('suspended');
    });
  }

  override reload(): Promise<void> {
    return this.turn(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  /** Cuts everybody who is at the console and empties it; the program stays. */
  resetConsole(): Promise<void> {
    return this.turn(() => {
      this.console.reset();
      return Promise.resolve();
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

  protected async end(): Promise<void> {
    await this.#stop().catch((error: unknown) => {
      this.services.log.error({ err: error, node: this.id }, 'a node that is removed could not be stopped');
    });
    this.console.close();
    this.#machine.release();
  }

  #places(): readonly { readonly adapter_number: number; readonly port_number: number }[] {
    return this.kind.ports(portOwnerOf({ node_id: this.id, properties: this.properties }, this.kind));
  }

  async #start(): Promise<void> {
    const { programs } = this.services;
    if (this.#run !== undefined) {
      if (this.#status === 'suspended') await this.#machine.resume?.(this.#run);
      this.#become('started');
      return;
    }
    await this.#closeTelnet();
    await this.#closeInner();
    this.console.reset();
    const run = await programs.start(this.kind.type, this.home.id, () => this.#launch());
    await this.#checkAlive(run);
    this.#run = run;
    this.#commandLine = run.commandLine;
    void run.program.ended.then((end) => {
      this.#onEnd(run, end);
    });
    this.#become('started');
  }

  /** Starts the program with its adapters wired and its console open, or leaves nothing of it. */
  async #launch(): Promise<Started> {
    if (this.isLeaving) throw refusals.nodeUnknown(this.id);
    try {
      for (const index of this.#places().keys()) await this.#openInner(2 * index);
      await this.#openTelnet();
      const started = await this.#machine.start(this.#inner);
      this.console.connect(started.source);
      this.console.printed(started.program.output);
      started.program.listen((bytes) => {
        this.console.printed(bytes);
      });
      return started;
    } catch (error) {
      await this.#unwire();
      throw error;
    }
  }

  /** Refuses (409) a program that ends at once, with what it printed. */
  async #checkAlive(started: Started): Promise<void> {
    const end = await Promise.race([started.program.ended, delay(ALIVE_MS)]);
    if (end === undefined) return;
    await this.#unwire();
    throw refusals.nodeNotStarted(this.name, lastWords(end, started));
  }

  async #unwire(): Promise<void> {
    this.console.disconnect();
    await this.#closeTelnet();
    await this.#closeInner();
  }

  async #stop(): Promise<void> {
    const run = this.#run;
    if (run !== undefined) {
      this.#run = undefined;
      await this.#machine.stop(run);
      this.console.disconnect();
    }
    await this.#closeInner();
    await this.#closeTelnet();
    this.#become('stopped');
  }

  /** The program ended by itself, or something killed it. */
  #onEnd(run: Started, end: ProgramEnd): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    this.console.disconnect();
    if (end.code !== 0)
      this.services.report(this.home.id, 'error', `${this.name} ended: ${lastWords(end, run)}`);
    this.#become('stopped');
    this.turn(() => this.#closeInner()).catch((error: unknown) => {
      this.services.log.error({ err: error, node: this.id }, 'the ports of a program could not be closed');
    });
  }

  #become(status: NodeStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    this.changed();
  }

  async #openInner(port: number): Promise<void> {
    const { sockets, udpPorts } = this.services;
    const programPort = await udpPorts.reserve(this.home.id);
    const enginePort = await udpPorts.reserve(this.home.id).catch((error: unknown) => {
      udpPorts.release(programPort, this.home.id);
      throw error;
    });
    const wire = { programPort, enginePort };
    try {
      const endpoint = sockets.openLoopback(enginePort, programPort);
      try {
        await this.device.attach(port, endpoint);
        this.#inner.push({ ...wire, port, endpoint });
      } catch (error) {
        sockets.close(endpoint);
        throw error instanceof RangeError ? refusals.engineFull(error.message) : error;
      }
    } catch (error) {
      this.#releasePorts(wire);
      throw error;
    }
  }

  async #closeInner(): Promise<void> {
    for (const { port, endpoint, ...wire } of this.#inner.splice(0)) {
      try {
        await this.device.detach(port);
      } finally {
        this.services.sockets.close(endpoint);
        this.#releasePorts(wire);
      }
    }
  }

  #releasePorts({ programPort, enginePort }: AdapterWire): void {
    const { udpPorts } = this.services;
    udpPorts.release(programPort, this.home.id);
    udpPorts.release(enginePort, this.home.id);
  }

  async #openTelnet(): Promise<void> {
    if (this.consoleType !== 'telnet' || this.consolePort === null) return;
    const telnet = new TelnetListener(this.console, {
      host: this.services.consoleHost,
      port: this.consolePort,
    });
    try {
      await telnet.listen();
    } catch (error) {
      throw refusals.consoleNotOpened(this.name, this.consolePort, systemCode(error) ?? String(error));
    }
    this.#telnet = telnet;
  }

  async #closeTelnet(): Promise<void> {
    const telnet = this.#telnet;
    this.#telnet = undefined;
    await telnet?.close();
  }
}

function lastWords({ code, signal }: ProgramEnd, { program }: Started): string {
  const how = signal === null ? `status ${code ?? 'unknown'}` : `signal ${signal}`;
  const text = lastLines(program.output);
  return text === '' ? `${how}, without a word` : `${how}\n${text}`;
}
