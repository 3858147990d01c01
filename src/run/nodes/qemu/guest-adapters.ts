/**
 * Adapters of the type `vhost-user`: `virtio-net-pci` in the guest, whose frames the engine takes from the memory of the
 * guest and puts there, without a system call for each. All of that memory is shared with this server.
 */
import { refusals } from '../../../base/errors/errors.js';
import { byAdapter, type CustomAdapter } from '../../../lab/kinds/custom-adapters.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { ComputeFiles } from '../../files.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { AdapterWire } from '../../links/udp-ports.js';
import type { NodeHost } from '../machine.js';
import { escaped } from './qemu-options.js';
import { adapterSocket } from './qemu-run.js';

/** The way of the frames of an adapter: a pair of UDP ports, or a Unix socket by which memory is shared. */
export type AdapterEnd = AdapterWire | { readonly socket: string };

interface Adapters {
  readonly properties: Properties;
  readonly customAdapters: readonly CustomAdapter[];
}

interface SharedPlace {
  readonly name: string;
  readonly sockets: NioSockets;
  readonly host: Pick<NodeHost, 'attach' | 'warn'>;
  /** The folder of the sockets of the machine. */
  readonly folder: string;
  /** The memory of the guest, in bytes. */
  readonly size: number;
}

const SHARED = 'vhost-user';
const MEMORY = 'gns3-memory';
/** The engine sees no more at once. */
const MOST_MEMORY = 4 * 1024 ** 3;

export function isShared(type: string): boolean {
  return type === SHARED;
}

/** The numbers of the adapters that share memory. */
export function sharedAdapters({ properties, customAdapters }: Adapters, count: number): number[] {
  const custom = byAdapter(customAdapters);
  const typeOf = (index: number): unknown => custom.get(index)?.adapter_type ?? properties['adapter_type'];
  return [...Array(count).keys()].filter((index) => typeOf(index) === SHARED);
}

/** Refuses (409) a machine that cannot share its memory. */
export function checkShared(name: string, { properties }: Adapters, size: number): void {
  const refuse = (why: string): never => {
    throw refusals.nodeNotStarted(name, `an adapter of the type ${SHARED} ${why}`);
  };
  if (process.platform !== 'linux') refuse('needs Linux');
  if (size > MOST_MEMORY) refuse('needs a machine with 4096 MiB of memory at most');
  if (properties['legacy_networking'] === true) refuse('cannot be there with legacy_networking');
}

/** Opens the ends of all adapters, in their order. Call it before QEMU is started. */
export async function openAdapters(
  place: SharedPlace & { readonly host: Pick<NodeHost, 'openUdp'> },
  count: number,
  shared: readonly number[],
): Promise<AdapterEnd[]> {
  const all = [...Array(count).keys()];
  const others = all.filter((index) => !shared.includes(index));
  const wires = await place.host.openUdp(others);
  for (const index of shared) await attachShared(place, index);
  return all.map((index) => wires[others.indexOf(index)] ?? { socket: adapterSocket(place.folder, index) });
}

/** Listens again for a QEMU that an earlier server has left, which tries until it is heard. */
export async function reopenShared(place: SharedPlace, files: ComputeFiles, index: number): Promise<void> {
  const path = adapterSocket(place.folder, index);
  await files.run('removeSockets', { path });
  await attachShared(place, index);
  await files.run('giveSocket', { path });
}

async function attachShared(
  { name, sockets, host, folder, size }: SharedPlace,
  index: number,
): Promise<void> {
  const endpoint = sockets.openGuest(adapterSocket(folder, index), size);
  await host.attach(index, endpoint);
  void sockets.guestFault(endpoint).then((reason) => {
    if (reason !== undefined) host.warn(`${name}: adapter ${index} was cut off: ${reason}`);
  });
}

/** The memory of a machine in a file that the engine can map, and that cannot become shorter. */
export function sharedMemoryArgs(adapters: readonly AdapterEnd[], mebibytes: number): string[] {
  if (!adapters.some((end) => 'socket' in end)) return [];
  return [
    ...['-object', `memory-backend-memfd,id=${MEMORY},size=${mebibytes}M,share=on,seal=on`],
    ...['-machine', `memory-backend=${MEMORY}`],
  ];
}

/** QEMU connects again when an engine was started again. */
export function sharedNetdev(index: number, socket: string): string[] {
  return [
    ...['-chardev', `socket,id=gns3-adapter-${index},path=${escaped(socket)},reconnect=1`],
    ...['-netdev', `vhost-user,id=gns3-${index},chardev=gns3-adapter-${index}`],
  ];
}
