/** A router that runs: its Dynamips process, the ports of the process that lead to the engine, and its consoles. */
import { refusals, systemCode } from '../../../base/errors/errors.js';
import { defaultAddress } from '../../../lab/kinds/dynamips.js';
import { cardPorts } from '../../../lab/kinds/dynamips-slots.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { NodePort } from '../../../lab/kinds/port.js';
import { ConsoleHub } from '../../consoles/console-hub.js';
import { TelnetConsole } from '../../consoles/telnet-client.js';
import { TelnetListener } from '../../consoles/telnet-listener.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program, ProgramEnd } from '../../keeper/keeper.js';
import { endProgram } from '../keeper-programs.js';
import type { AdapterWire } from '../kept-programs.js';
import type { MachineConsole, MachineNode, NodeHost, Run } from '../machine.js';
import { freePort, startDynamips } from './dynamips-process.js';
import { Hypervisor, HypervisorRefusal } from './hypervisor.js';
import { idleCommands, routerCommands, type RouterCommand } from './router-commands.js';

/** A router that does not stop in this time is killed. */
const STOP_MS = 3000;
/** So often the configuration is read from a router that runs, so that a router which is killed loses little. */
const KEEP_EVERY_MS = 30_000;
/** Another program may take a free port before Dynamips does. */
const ATTEMPTS = 3;
const BANNER_MS = 5000;
/** Dynamips greets at its consoles with this. */
const BANNER = 'Connected to Dynamips VM';
const LONGEST_NAME = 64;
const CONFIG_LINE = /' '([A-Za-z0-9+/=]*)' '([A-Za-z0-9+/=]*)'$/;

export interface RouterOrder {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly node: MachineNode;
  readonly host: NodeHost;
  readonly number: number;
  /** The path of a file that is an image of a router. */
  readonly image: string;
  readonly tables: string;
  readonly consoleHost: string;
}

/** The port that Dynamips was to open for a console is another program's. */
class PortTaken extends Error {}

export async function startRouter(order: RouterOrder): Promise<RouterRun> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await RouterRun.start(order);
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof PortTaken)) throw error;
    }
  }
}

export class RouterRun implements Run {
  readonly commandLine: string;
  readonly ended: Promise<ProgramEnd>;
  readonly #order: RouterOrder;
  readonly #program: Program;
  readonly #hypervisor: Hypervisor;
  readonly #port: number;
  /** The name of the router in its process: a change of the node's name does not reach it. */
  readonly #name: string;
  readonly #places: readonly NodePort[];
  /** The pairs of UDP ports that were opened for ports of the node. They stay until the end of the run. */
  readonly #wires = new Map<number, AdapterWire>();
  /** The ports of the node whose cards are connected. */
  readonly #connected = new Set<number>();
  #console: TelnetConsole | undefined;
  #aux: { readonly source: TelnetConsole; readonly listener: TelnetListener } | undefined;
  #keeping: NodeJS.Timeout | undefined;
  #kept = '';

  /** Leaves nothing of a router that does not start. */
  static async start(order: RouterOrder): Promise<RouterRun> {
    const { keeper, files, node, number, tables } = order;
    const place = { root: node.home.folder, folder: node.folder };
    const { folder, configs } = await files.run('prepareRouter', { ...place, tables, number });
    const started = await startDynamips(keeper, {
      id: node.id,
      projectId: node.home.id,
      tables,
      logFile: `${folder}/${String(node.properties['platform'])}_i${number}_log.txt`,
    });
    const run = new RouterRun(order, started);
    try {
      await run.#hypervisor.ask('hypervisor working_dir', [folder]);
      await run.#begin(configs);
      return run;
    } catch (error) {
      await run.#kill();
      throw error;
    }
  }

  private constructor(
    order: RouterOrder,
    { program, hypervisor, port, commandLine }: Awaited<ReturnType<typeof startDynamips>>,
  ) {
    this.#order = order;
    this.#program = program;
    this.#hypervisor = hypervisor;
    this.#port = port;
    this.commandLine = commandLine;
    this.#name = nameFor(order.node.name);
    this.#places = cardPorts(order.node.properties);
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
      await this.#hypervisor.ask('vm stop', [this.#name], STOP_MS);
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
    const place = this.#places[index];
    if (place === undefined) return;
    const { adapter_number: slot, port_number: port } = place;
    if (isPlugged === this.#connected.has(index)) return;
    if (isPlugged) {
      await this.#connect(index, place);
      await this.#ask('vm slot_enable_nio', slot, port);
      return;
    }
    this.#connected.delete(index);
    await this.#ask('vm slot_disable_nio', slot, port);
    await this.#ask('vm slot_remove_nio_binding', slot, port);
    await this.#hypervisor.ask('nio delete', [nioOf(index)]);
  }

  /** Takes over the properties that act at once. */
  async update(): Promise<void> {
    await this.#carryOut(idleCommands(this.#name, this.#order.node.properties));
  }

  /** A connection of its own, for what takes long: one command is on its way at a time on each. */
  anotherHypervisor(): Promise<Hypervisor> {
    return Hypervisor.connect(this.#port);
  }

  get routerName(): string {
    return this.#name;
  }

  async #begin(configs: Parameters<typeof routerCommands>[0]['configs']): Promise<void> {
    const { node, host, number, image } = this.#order;
    const { consoleType } = node;
    const { mac_addr: given } = node.properties;
    const hasAddress = typeof given === 'string' && given !== '';
    const address = hasAddress ? given : defaultAddress(String(node.properties['platform']), node.id);
    const properties: Properties = { ...node.properties, mac_addr: address };
    const consolePort = consoleType === 'telnet' ? await freePort() : undefined;
    const aux = properties['aux'];
    const auxPort = typeof aux === 'number' ? await freePort() : undefined;
    const name = this.#name;
    await this.#carryOut(routerCommands({ name, number, properties, image, consolePort, auxPort, configs }));
    for (const [index, place] of this.#places.entries()) {
      if (host.isPlugged(index)) await this.#connect(index, place);
    }
    await this.#hypervisor.ask('vm start', [name]);
    if (consolePort !== undefined) this.#console = await openConsole(consolePort);
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

  async #openAux(inner: number, port: number): Promise<void> {
    const source = await openConsole(inner);
    const hub = new ConsoleHub();
    hub.connect(source);
    hub.printed(source.output);
    source.listen((bytes) => {
      hub.printed(bytes);
    });
    const listener = new TelnetListener(hub, { host: this.#order.consoleHost, port });
    this.#aux = { source, listener };
    await listener.listen().catch((error: unknown) => {
      throw refusals.consoleNotOpened(this.#order.node.name, port, systemCode(error) ?? String(error));
    });
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
    return this.#hypervisor.ask(command, [this.#name, ...args]);
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
    this.#aux?.source.close();
    await this.#aux?.listener.close();
    const { files, node } = this.#order;
    const place = { root: node.home.folder, folder: node.folder };
    // Files that are left go at the next start.
    await files.run('sweepRouter', { ...place, disks: false }).catch(() => undefined);
  }
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

/** The console at a port that Dynamips was told to open. */
async function openConsole(port: number): Promise<TelnetConsole> {
  const console = await TelnetConsole.open(port).catch(() => {
    throw new PortTaken('The console of the router does not answer');
  });
  if (await console.says(BANNER, BANNER_MS)) return console;
  console.close();
  throw new PortTaken('The console of the router does not answer');
}
