/**
 * The display of a container whose console is VNC: a program of this host that is a server of X and of VNC. The container
 * has the folder of its X socket, and the program listens for VNC in a network of its own, where this server alone can reach
 * it. It always is display 0, because no two displays see each other.
 */
import { join } from 'node:path';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { Confinement } from '../confinement.js';
import { endProgram } from '../keeper-programs.js';
import type { MachineNode, NodeHost } from '../machine.js';
import { lastLines } from '../printed-text.js';
import { ConsoleTarget } from './console-target.js';

const COMMAND = 'Xtigervnc';
const DEBIAN_PACKAGE = 'tigervnc-standalone-server';
const VNC_PORT = 5900;
const DEFAULT_RESOLUTION = '1024x768';
/** A picture of these takes 127 MiB. */
const MOST_COLUMNS = 7680;
const MOST_ROWS = 4320;
/** A display that is not ready after so long is ended. */
const READY_MS = 20_000;
/** It prints its number when it is ready. */
const READY = /^0$/m;

export interface DisplayServices {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly confinement: Pick<Confinement, 'connect' | 'openNetwork' | 'problem'>;
  /** The folder below which displays have their sockets. */
  readonly displays: string;
}

/** The folder of a node's display. */
export function displayFolder({ displays }: Pick<DisplayServices, 'displays'>, nodeId: string): string {
  return join(displays, nodeId);
}

/** The folder on this host in which a display has its X socket. */
export function displaySockets(services: Pick<DisplayServices, 'displays'>, nodeId: string): string {
  return join(displayFolder(services, nodeId), '.X11-unix');
}

export class ContainerDisplay {
  readonly #program: Program;
  readonly #target: ConsoleTarget;
  #isWanted = true;

  /** Resolves when the display can be used. Refuses (409) one that cannot be. */
  static async start(
    node: MachineNode,
    services: DisplayServices,
    host: Pick<NodeHost, 'warn'>,
  ): Promise<ContainerDisplay> {
    const { files, confinement } = services;
    const geometry = geometryOf(node);
    const folder = displayFolder(services, node.id);
    if (!(await files.run('hasProgram', { name: COMMAND })))
      throw refusals.packageMissing('give a container a display', DEBIAN_PACKAGE);
    await files.run('prepareDisplay', { folder, sockets: displaySockets(services, node.id) });
    const network = await confinement.openNetwork([]);
    if (network === undefined) {
      const why = (await confinement.problem()) ?? '';
      throw refusals.nodeNotStarted(node.name, `its display must be confined, and cannot be: ${why}`);
    }
    const target = new ConsoleTarget(confinement, network, () => VNC_PORT);
    try {
      const program = await spawnDisplay(node, services, network.path, geometry);
      return new ContainerDisplay(program, target, () => {
        host.warn(`The display of ${node.name} has ended: ${lastLines(program.output)}`);
      });
    } catch (error) {
      target.close();
      throw error;
    }
  }

  private constructor(program: Program, target: ConsoleTarget, hasFailed: () => void) {
    this.#program = program;
    this.#target = target;
    void program.ended.then(() => {
      if (this.#isWanted) hasFailed();
    });
  }

  get open(): ConsoleTarget['open'] {
    return this.#target.open;
  }

  async close(): Promise<void> {
    this.#isWanted = false;
    this.#target.close();
    await endProgram(this.#program);
  }
}

function geometryOf({ name, properties: { console_resolution: wanted } }: MachineNode): string {
  const text = typeof wanted === 'string' ? wanted : DEFAULT_RESOLUTION;
  const [columns = 0, rows = 0] = text.split('x').map(Number);
  if (columns > 0 && columns <= MOST_COLUMNS && rows > 0 && rows <= MOST_ROWS) return `${columns}x${rows}`;
  const most = `${MOST_COLUMNS}x${MOST_ROWS}`;
  throw refusals.nodeNotStarted(name, `no display has a resolution of ${text}: at most ${most} is possible`);
}

async function spawnDisplay(
  { id, name, home }: MachineNode,
  services: DisplayServices,
  network: string,
  geometry: string,
): Promise<Program> {
  const folder = displayFolder(services, id);
  const args = [
    ...[':0', '-geometry', geometry, '-depth', '24', '-displayfd', '1', '-ac', '-nolisten', 'tcp'],
    // Its clients are in other namespaces, where shared memory is not the same.
    ...['-extension', 'MIT-SHM'],
    ...['-SecurityTypes', 'None', '-AlwaysShared', '-rfbport', String(VNC_PORT)],
  ];
  const confinement = { network, writable: [], readable: [], moved: [{ path: folder, at: '/tmp' }] };
  const order = { id: `${id}/display`, command: COMMAND, args, folder: '/', project: home.id, confinement };
  const how = { environment: {}, console: 'pipes', memo: null, endsWithServer: true } as const;
  const program = await services.keeper.spawn({ ...order, ...how }).catch((error: unknown) => {
    throw refusals.nodeNotStarted(name, messageOf(error));
  });
  if (await isReady(program)) return program;
  await endProgram(program);
  throw refusals.nodeNotStarted(name, `its display has ended: ${lastLines(program.output)}`);
}

/** Whether it says that it is ready, before it ends and before the patience does. */
async function isReady(program: Program): Promise<boolean> {
  let patience: NodeJS.Timeout | undefined;
  let stopListening = (): void => undefined;
  const hasSaid = (): boolean => READY.test(Buffer.from(program.output).toString('latin1'));
  const said = new Promise<void>((resolve) => {
    stopListening = program.listen(() => {
      if (hasSaid()) resolve();
    });
    if (hasSaid()) resolve();
    patience = setTimeout(resolve, READY_MS);
  });
  await Promise.race([said, program.ended]);
  clearTimeout(patience);
  stopListening();
  return program.isRunning && hasSaid();
}
