/** A router that runs: its Dynamips process, the ports of the process that lead to the engine, and its consoles. */
import type { ConsoleReach } from '../../consoles/console-port.js';
import { z } from 'zod';
import { defaultAddress, dynamips } from '../../../lab/kinds/dynamips.js';
import { cardPorts, SLOT_KEYS } from '../../../lab/kinds/dynamips-slots.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { NodePort } from '../../../lab/kinds/port.js';
import { portPlaces } from '../../../lab/kinds/port-places.js';
import { AuxiliaryConsole } from '../../consoles/auxiliary-console.js';
import type { TelnetConsole } from '../../consoles/telnet-client.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program, ProgramEnd } from '../../keeper/keeper.js';
import { endProgram } from '../keeper-programs.js';
import type { AdapterWire } from '../../links/udp-ports.js';
import type { KeptNode } from '../kept-programs.js';
import type { MachineConsole, MachineNode, NodeHost, Run } from '../machine.js';
import { freePort, startDynamips, type DynamipsProcess } from './dynamips-process.js';
import { Hypervisor, HypervisorRefusal } from './hypervisor.js';
import { idleCommands, routerCommands, type RouterCommand } from './router-commands.js';
import { openRouterConsole, rememberConsole } from './router-console.js';

/** Answers to `vm get_status`. */
const RUNS = '2';
const IS_SUSPENDED = '3';
/** A router that does not stop in this time is killed. */
const STOP_MS = 3000;
/** So often the configuration is read from a router that runs, so that a router which is killed loses little. */
const KEEP_EVERY_MS = 30_000;
/** Another program may take a free port before Dynamips does. */
const ATTEMPTS = 3;
const LONGEST_NAME = 64;
const CONFIG_LINE = /' '([A-Za-z0-9+/=]*)' '([A-Za-z0-9+/=]*)'$/;

export interface RouterOrder {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly node: MachineNode;
  readonly host: NodeHost;
  readonly number: number;
  readonly tables: string;
  /** Makes the tables, unless that is done. */
  readonly makeTables: () => Promise<void>;
  readonly consoles: ConsoleReach;
}

/** The kind's part of the memo of a router. */
const routerMemo = z.object({
  /** The hypervisor port. */
  port: z.int(),
  /** The name of the router in its process: a change of the node's name does not reach it. */
  name: z.string(),
  /** The ports at which the process has the consoles. */
  consolePort: z.int().optional(),
  auxPort: z.int().optional(),
});

type RouterMemo = z.infer<typeof routerMemo>;

/** The port that Dynamips was to open for a console is another program's. */
class PortTaken extends Error {}

/** `image` is the path of a file that is an image of a router. */
export async function startRouter(order: RouterOrder, image: string): Promise<RouterRun> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await RouterRun.start(order, image);
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof PortTaken)) throw error;
    }
  }
}

export class RouterRun implements Run {
  readonly commandLine: string;
  isSuspended = false;
  readonly ended: Promise<ProgramEnd>;
  readonly #order: RouterOrder;
  readonly #program: Program;
  readonly #hypervisor: Hypervisor;
  readonly #known: RouterMemo;
  /** The ports of the cards that are in the router, by their indexes. */
  #places: ReadonlyMap<number, NodePort>;
  /** The cards that are in the slots. */
  #cards: readonly unknown[];
  /** The pairs of UDP ports that were opened for ports of the node. They stay until the end of the run. */
  readonly #wires = new Map<number, AdapterWire>();
  /** The ports of the node whose cards are connected. */
  readonly #connected = new Set<number>();
  #console: TelnetConsole | undefined;
  #aux: AuxiliaryConsole | undefined;
  #keeping: NodeJS.Timeout | undefined;
  #kept = '';

  /** Leaves nothing of a router that does not start. */
  static async start(order: RouterOrder, image: string): Promise<RouterRun> {
    const { keeper, files, node, host, number, tables } = order;
    const place = { root: node.home.folder, folder: node.folder };
    const { folder, configs } = await files.run('prepareRouter', { ...place, tables, number });
    await host.openUdp([]);
    if (node.network !== undefined) await order.makeTables();
    const ports = {
      consolePort: node.consoleType === 'telnet' ? await freePort() : undefined,
      auxPort: typeof node.properties['aux'] === 'number' ? await freePort() : undefined,
    };
    const knownAt = (port: number): RouterMemo => ({ port, name: nameFor(node.name), ...ports });
    const started = await startDynamips(keeper, {
      id: node.id,
      projectId: node.home.id,
      tables,
      connect: (port) => host.connect(port),
      confinement: { network: node.network, writable: [folder], readable: [tables, image] },
      logFile: `${folder}/${String(node.properties['platform'])}_i${number}_log.txt`,
      memo: (commandLine, port) => host.memo(commandLine, knownAt(port)),
    });
    const run = new RouterRun(order, started, knownAt(started.port));
    try {
      await run.#hypervisor.ask('hypervisor working_dir', [folder]);
      await run.#boot(configs, image);
      await run.#attend();
      return run;
    } catch (error) {
      await run.#kill();
      throw error;
    }
  }

  /** Takes over the router of an earlier server. */
  static async adopt(
    order: RouterOrder,
    { programs: [program], commandLine, own }: KeptNode,
  ): Promise<RouterRun> {
    const known = routerMemo.parse(own);
    const hypervisor = new Hypervisor(await order.host.connect(known.port));
    const run = new RouterRun(order, { program, hypervisor, commandLine }, known);
    try {
      await run.#rejoin();
      await run.#attend();
      return run;
    } catch (error) {
      await run.#kill();
      throw error;
    }
  }

  private constructor(
    order: RouterOrder,
    { program, hypervisor, commandLine }: Omit<DynamipsProcess, 'port'>,
    known: RouterMemo,
  ) {
    this.#order = order;
    this.#program = program;
    this.#hypervisor = hypervisor;
    this.#known = known;
    this.commandLine = commandLine;
    this.#places = placesOf(order.node.properties);
    this.#cards = cardsOf(order.node.properties);
    this.ended = program.ended.then(async (end) => {
      await this.#clear();
      return end;
    });
  }

  get output(): Uint8Array {
    return this.#program.output;
  }

  get console(): MachineConsole | undefined {
    return this.#console;
  }

  async stop(): Promise<void> {
    clearInterval(this.#keeping);
    try {
      await this.#hypervisor.ask('vm stop', [this.routerName], STOP_MS);
      await this.#keepConfigs();
    } catch {
      // It does not stop, or has ended meanwhile.
      this.#program.kill('SIGKILL');
    }
    await endProgram(this.#program);
    await this.ended;
  }

  async suspend(): Promise<void> {
    await this.#ask('vm suspend');
  }

  async resume(): Promise<void> {
    await this.#ask('vm resume');
  }

  async cable(index: number, isPlugged: boolean): Promise<void> {
    const place = this.#places.get(index);
    if (place === undefined) return;
    if (isPlugged === this.#connected.has(index)) return;
    if (!isPlugged) {
      await this.#disconnect(index, place);
      return;
    }
    await this.#connect(index, place);
    await this.#ask('vm slot_enable_nio', place.adapter_number, place.port_number);
  }

  /** Takes over the properties that act at once. */
  async update(): Promise<void> {
    await this.#changeCards(this.#order.node.properties);
    await this.#carryOut(idleCommands(this.routerName, this.#order.node.properties));
  }

  /** A connection of its own, for what takes long: one command is on its way at a time on each. */
  anotherHypervisor(): Promise<Hypervisor> {
    return this.#order.host.connect(this.#known.port).then((socket) => new Hypervisor(socket));
  }

  get routerName(): string {
    return this.#known.name;
  }

  async #boot(configs: Parameters<typeof routerCommands>[0]['configs'], image: string): Promise<void> {
    const { node, host, number } = this.#order;
    const { mac_addr: given } = node.properties;
    const hasAddress = typeof given === 'string' && given !== '';
    const address = hasAddress ? given : defaultAddress(String(node.properties['platform']), node.id);
    const properties: Properties = { ...node.properties, mac_addr: address };
    const { name, consolePort, auxPort } = this.#known;
    await this.#carryOut(routerCommands({ name, number, properties, image, consolePort, auxPort, configs }));
    for (const [index, place] of this.#places) {
      if (host.isPlugged(index)) await this.#connect(index, place);
    }
    await this.#hypervisor.ask('vm start', [name]);
  }

  /** Removes the connections of the earlier server: links that come make their own. */
  async #rejoin(): Promise<void> {
    const [status] = await this.#ask('vm get_status');
    if (status !== RUNS && status !== IS_SUSPENDED) throw new Error('it was about to start or to stop');
    this.isSuspended = status === IS_SUSPENDED;
    const nios = await this.#hypervisor.ask('nio list');
    for (const [index, place] of this.#places)
      if (nios.includes(nioOf(index))) await this.#disconnect(index, place);
  }

  /** Opens the consoles of a router that runs, and keeps its configurations from now on. */
  async #attend(): Promise<void> {
    const { consolePort, auxPort } = this.#known;
    const { aux } = this.#order.node.properties;
    if (consolePort !== undefined) {
      this.#console = await this.#openConsole(consolePort);
      await rememberConsole(this.#console, this.#program);
    }
    if (auxPort !== undefined && typeof aux === 'number') await this.#openAux(auxPort, aux);
    await this.update();
    this.#keeping = setInterval(() => {
      this.#keepConfigs().catch(() => undefined);
    }, KEEP_EVERY_MS).unref();
  }

  async #connect(index: number, { adapter_number: slot, port_number: port }: NodePort): Promise<void> {
    const [opened] = this.#wires.has(index) ? [] : await this.#order.host.openUdp([index]);
    if (opened !== undefined) this.#wires.set(index, opened);
    const wire = this.#wires.get(index);
    if (wire === undefined) throw new Error('an adapter has no wire');
    const { programPort, enginePort } = wire;
    await this.#hypervisor.ask('nio create_udp', [nioOf(index), programPort, '127.0.0.1', enginePort]);
    await this.#ask('vm slot_add_nio_binding', slot, port, nioOf(index));
    this.#connected.add(index);
  }

  async #disconnect(index: number, { adapter_number: slot, port_number: port }: NodePort): Promise<void> {
    this.#connected.delete(index);
    await this.#ask('vm slot_disable_nio', slot, port);
    await this.#ask('vm slot_remove_nio_binding', slot, port);
    await this.#hypervisor.ask('nio delete', [nioOf(index)]);
  }

  /** Takes cards out of the router and puts others in while it runs. The cables at them are pulled meanwhile. */
  async #changeCards(properties: Properties): Promise<void> {
    const [before, wanted] = [this.#cards, cardsOf(properties)];
    for (const [slot, card] of wanted.entries()) {
      const known = before[slot];
      if (card === known) continue;
      for (const [index, place] of this.#places)
        if (place.adapter_number === slot && this.#connected.has(index)) await this.#disconnect(index, place);
      if (typeof known === 'string') {
        await this.#ask('vm slot_oir_stop', slot, 0);
        await this.#ask('vm slot_remove_binding', slot, 0);
      }
      if (typeof card === 'string') {
        await this.#ask('vm slot_add_binding', slot, 0, card);
        await this.#ask('vm slot_oir_start', slot, 0);
      }
      this.#cards = this.#cards.with(slot, card);
    }
    this.#places = placesOf(properties);
    for (const index of this.#places.keys())
      if (this.#order.host.isPlugged(index)) await this.cable(index, true);
  }

  /** The console at a port that Dynamips was told to open. */
  async #openConsole(port: number): Promise<TelnetConsole> {
    const socket = await this.#order.host.connect(port).catch(() => undefined);
    const console = socket === undefined ? undefined : await openRouterConsole(socket);
    if (console === undefined) throw new PortTaken('The console of the router does not answer');
    return console;
  }

  async #openAux(inner: number, port: number): Promise<void> {
    const { node, consoles: reach } = this.#order;
    const used = (): void => {
      this.#order.host.used();
    };
    this.#aux = await AuxiliaryConsole.open(node, { reach, port }, await this.#openConsole(inner), used);
  }

  /** Writes the configurations of the router into the folder of the node, when they have changed. */
  async #keepConfigs(): Promise<void> {
    const { files, node, number } = this.#order;
    // A router that has not written its memory yet has none, and the command is refused.
    const lines = await this.#ask('vm extract_config').catch((error: unknown) => {
      if (error instanceof HypervisorRefusal) return [];
      throw error;
    });
    const line = lines.at(-1) ?? '';
    const [, startup, secret] = CONFIG_LINE.exec(line) ?? [];
    if (line === this.#kept || startup === undefined) return;
    const place = { root: node.home.folder, folder: node.folder, number };
    await files.run('keepConfigs', { ...place, configs: { startup, private: secret ?? '' } });
    this.#kept = line;
  }

  /** Asks about this router. */
  #ask(command: string, ...args: readonly (string | number)[]): Promise<readonly string[]> {
    return this.#hypervisor.ask(command, [this.routerName, ...args]);
  }

  async #carryOut(commands: readonly RouterCommand[]): Promise<void> {
    for (const [command, ...args] of commands) await this.#hypervisor.ask(command, args);
  }

  async #kill(): Promise<void> {
    this.#program.kill('SIGKILL');
    await this.ended;
  }

  /** The process has ended. */
  async #clear(): Promise<void> {
    clearInterval(this.#keeping);
    this.#hypervisor.close();
    this.#console?.close();
    await this.#aux?.close();
    const { files, node } = this.#order;
    const place = { root: node.home.folder, folder: node.folder };
    // Files that are left go at the next start.
    await files.run('sweepRouter', { ...place, disks: false }).catch(() => undefined);
  }
}

function placesOf(properties: Properties): ReadonlyMap<number, NodePort> {
  return portPlaces(dynamips, cardPorts(properties));
}

/** Undefined stands for an empty slot. */
function cardsOf(properties: Properties): readonly unknown[] {
  return SLOT_KEYS.map((key) => properties[key] ?? undefined);
}

function nioOf(index: number): string {
  return `n${index}`;
}

/** The name of a node as Dynamips takes it. */
function nameFor(name: string): string {
  const plain = name
    .replaceAll(/["\p{Cc}]/gu, '')
    .trim()
    .slice(0, LONGEST_NAME);
  return plain === '' ? 'router' : plain;
}
