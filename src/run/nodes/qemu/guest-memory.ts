/**
 * The memory of a guest, saved and loaded by QEMU's migration over a Unix socket: no other way works below its sandbox, with
 * UEFI, and with every version.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskRunner } from '../../../base/threads/task-pool.js';
import type { KeptMemory, SavedMemory } from '../../../lab/lab-run.js';
import { refusals } from '../../../base/errors/errors.js';
import type { ComputeFiles } from '../../files.js';
import type { RunMemory } from '../machine.js';
import type { MemoryTasks } from './memory-tasks.js';
import type { QmpClient } from './qmp.js';

export interface MemoryThreads {
  readonly files: ComputeFiles;
  readonly memories: TaskRunner<MemoryTasks>;
}

interface GuestMemoryParts {
  readonly threads: MemoryThreads;
  readonly name: string;
  readonly control: Pick<QmpClient, 'execute'>;
  readonly pid: number;
  /** The socket that does not exist until it is needed. */
  readonly socket: string;
  /** The memory of the machine in bytes. */
  readonly size: number;
  /** The parts of its command line, by `partsOf`. */
  readonly parts: readonly string[];
  /** Whether it writes into an image. */
  readonly writesImages: boolean;
}

const MEBI = 1024 * 1024;
/** Devices have memory of their own, that of a display above all. */
const DEVICES = 512 * MEBI;
/** The rate at which QEMU sends, in bytes a second: no bound, where it would keep to 128 MiB otherwise. */
const UNBOUNDED = 2 ** 40;
const LOOK_MS = 5;
const LISTENING_LIMIT_MS = 60_000;
const MACHINE_TYPE = /^([a-zA-Z0-9._-]{1,64})-machine$/;

export class GuestMemory implements RunMemory {
  readonly #parts: GuestMemoryParts;

  constructor(parts: GuestMemoryParts) {
    this.#parts = parts;
  }

  async estimate(): Promise<{ readonly bytes: number } | { readonly why: string }> {
    const { threads, control, pid, size, name, writesImages } = this.#parts;
    if (writesImages) throw refusals.diskNotHeld(name);
    const { 'blocked-reasons': reasons } = recordOf(await control.execute('query-migrate'));
    if (Array.isArray(reasons) && reasons.length > 0)
      return { why: `its disks alone are saved, because QEMU cannot save its memory: ${String(reasons[0])}` };
    const resident = await threads.memories.run('residentBytes', { pid });
    return { bytes: Math.min(resident, size + DEVICES) };
  }

  async pause(): Promise<void> {
    await this.#parts.control.execute('stop');
  }

  async resume(): Promise<void> {
    await this.#parts.control.execute('cont');
  }

  async save(path: string): Promise<SavedMemory> {
    const { threads, control, socket, size, parts } = this.#parts;
    const limit = size + DEVICES;
    const received = threads.memories.run('receiveMemory', { socket, path, limit });
    try {
      await Promise.race([received, this.#listening()]);
      const type = await control.execute('qom-get', { path: '/machine', property: 'type' });
      const [, machine] = MACHINE_TYPE.exec(String(type)) ?? [];
      if (machine === undefined) throw new Error(`its machine is of no type that has a version`);
      await control.execute('migrate-set-parameters', { 'max-bandwidth': UNBOUNDED });
      await control.execute('migrate', { uri: `unix:${socket}` });
      const [file] = await Promise.all([received, migrated(control)]);
      return { ...file, machine, parts };
    } catch (error) {
      received.catch(() => undefined);
      await control.execute('migrate_cancel').catch(() => undefined);
      // Nobody else connects any more.
      const last = connect({ path: socket });
      last.once('connect', () => last.destroy()).on('error', () => undefined);
      throw error;
    }
  }

  async #listening(): Promise<void> {
    const { threads, socket } = this.#parts;
    const begun = performance.now();
    while (!(await threads.files.run('isThere', { path: socket }))) {
      if (performance.now() - begun > LISTENING_LIMIT_MS) throw new Error('no thread is free');
      await sleep(LOOK_MS);
    }
  }
}

/** Loads a memory into a machine that was started for it and does not run yet. */
export async function loadMemory(
  { memories }: Pick<MemoryThreads, 'memories'>,
  control: Pick<QmpClient, 'execute'>,
  socket: string,
  { path, digest }: KeptMemory,
): Promise<void> {
  await control.execute('migrate-incoming', { uri: `unix:${socket}` });
  await memories.run('sendMemory', { socket, path, digest });
  await migrated(control);
}

/** The arguments of a machine that is started to have the memory. */
export function loadingArgs({ machine }: SavedMemory): string[] {
  return ['-machine', `type=${machine}`, '-incoming', 'defer'];
}

/** Options whose values are not the guest's business, or belong to one run. */
const OF_A_RUN = new Set([
  ...['-name', '-qmp', '-monitor', '-S', '-netdev', '-chardev', '-display', '-sandbox', '-boot', '-incoming'],
  ...['-serial', '-vnc', '-spice'],
]);

/**
 * The parts of a command line that the memory of a machine depends on. Files count by their names: projects and images may
 * have moved.
 */
export function partsOf(command: string, args: readonly string[]): string[] {
  const parts: string[][] = [];
  for (const arg of args) {
    if (arg.startsWith('-')) parts.push([arg]);
    else parts.at(-1)?.push(arg);
  }
  const shown = parts.map(([option = '', ...values]) =>
    OF_A_RUN.has(option) ? option : [option, ...values.map(withoutFolders)].join(' '),
  );
  return [command, ...shown];
}

/** The first difference of a machine from the one whose memory was saved; undefined when there is none. */
export function differenceOf(saved: readonly string[], now: readonly string[]): string | undefined {
  const length = Math.max(saved.length, now.length);
  for (let at = 0; at < length; at++) {
    const [then, present] = [saved[at], now[at]];
    if (then !== present)
      return `it was saved with '${then ?? 'nothing'}', and there is '${present ?? 'nothing'}'`;
  }
  return undefined;
}

function withoutFolders(value: string): string {
  return value
    .split(',')
    .map((piece) => {
      const [before, path] = piece.split('=/', 2);
      if (piece.startsWith('/')) return piece.slice(piece.lastIndexOf('/') + 1);
      return path === undefined ? piece : `${before ?? ''}=${path.slice(path.lastIndexOf('/') + 1)}`;
    })
    .join(',');
}

/** Resolves when QEMU has sent or taken the whole memory. */
async function migrated(control: Pick<QmpClient, 'execute'>): Promise<void> {
  for (;;) {
    const { status, 'error-desc': reason } = recordOf(await control.execute('query-migrate'));
    if (status === 'completed') return;
    if (status === 'failed' || status === 'cancelled')
      throw new Error(typeof reason === 'string' ? reason : `the transfer has ${status}`);
    await sleep(LOOK_MS);
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
