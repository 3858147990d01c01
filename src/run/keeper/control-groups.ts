/**
 * Control groups (cgroup v2): one for each program, in one for its project, in one for all programs of a server. A group
 * is killed with all that it holds, whatever its processes did to hide. Where the host delegates controllers, projects
 * share the processors evenly, and each has bounds of processes, memory and processors. Without a writable tree programs have none of it. This
 * process is in the tree itself, so the tree of one that was killed is told by its emptiness, and removed by the next.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import koffi from 'koffi';
import { systemCode } from '../../base/errors/errors.js';
import { NO_LIMITS, type ProjectLimits } from './messages.js';

const library = koffi.load(null);
const getAttribute = library.func('int64_t getxattr(const char *, const char *, uint8_t *, size_t)') as (
  path: string,
  name: string,
  value: Uint8Array,
  length: number,
) => number;

const CONTROLLERS = ['cpu', 'memory', 'pids'];
const MOST_PROCESSES = 8192;
/** A limit of processors holds for each span of so many microseconds. */
const CPU_SPAN = 100_000;
/** The host gives a group so marked to whom it starts in it. */
const DELEGATION_MARKS = ['trusted.delegate', 'user.delegate'];
/** The processes that were in a delegated group, which may have either processes or groups with controllers. */
const FORMER = 'server';
const PREFIX = 'wirefarm-';
const KEEPER = 'keeper';
const OTHERS = 'others';
/** Another server may take the new tree, which is empty at first, for a left one. */
const ATTEMPTS = 5;
/** The processes of a killed group leave it so soon. */
const LOOKS = 100;
const BETWEEN_MS = 20;

interface ControlGroupsOptions {
  /** The folder of the group in which those of the programs are made. */
  readonly base: string;
  readonly mark: string;
  readonly controllers?: readonly string[];
}

/** The folder of the group of this process; undefined on a host without cgroup v2. */
export async function ownControlGroup(): Promise<string | undefined> {
  try {
    const [, path] = /^0::(\/.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8')) ?? [];
    const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
    const mount = mounts.find((line) => line.includes(' - cgroup2 '))?.split(' ');
    const [, , , root, at] = mount ?? [];
    if (path === undefined || root === undefined || at === undefined) return undefined;
    return join(at, root === '/' ? path : path.slice(root.length));
  } catch {
    return undefined;
  }
}

export class ControlGroups {
  readonly #folder: string;
  /** The group in which this process was. */
  readonly #former: string;
  readonly #controllers: readonly string[];
  /** The limits of projects whose programs are added from now on. */
  limits = NO_LIMITS;
  /** The work on the groups of each project, one after the other. */
  readonly #work = new Map<string, Promise<void>>();

  /**
   * Ends what an earlier life has left in groups of this mark, and moves this process into them. Undefined where none can
   * be made.
   */
  static async open({
    base,
    mark,
    controllers = CONTROLLERS,
  }: ControlGroupsOptions): Promise<ControlGroups | undefined> {
    const folder = join(base, `${PREFIX}${mark}`);
    try {
      await removeTree(folder);
      await removeLeft(base);
      const enabled = await delegate(base, controllers);
      const former = (await ownControlGroup()) ?? base;
      if (!(await makeTree(folder))) return undefined;
      await enable(folder, enabled);
      return new ControlGroups(folder, former, enabled);
    } catch {
      return undefined;
    }
  }

  private constructor(folder: string, former: string, controllers: readonly string[]) {
    this.#folder = folder;
    this.#former = former;
    this.#controllers = controllers;
  }

  /** The controllers that the host lends. */
  get controllers(): readonly string[] {
    return this.#controllers;
  }

  /** Takes milliseconds, in which the process goes on. Never rejects: a program without a group runs as well. */
  add(id: string, pid: number, project = OTHERS, cpuPercent = 0): Promise<void> {
    return this.#inTurn(project, async (home) => {
      await mkdir(home, { recursive: true });
      await enable(home, this.#controllers);
      for (const [file, limit] of Object.entries(boundsOf(this.limits))) {
        if (this.#controllers.some((controller) => file.startsWith(`${controller}.`)))
          await writeFile(join(home, file), limit);
      }
      const group = join(home, nameOf(id));
      await mkdir(group, { recursive: true });
      if (cpuPercent > 0 && this.#controllers.includes('cpu'))
        await writeFile(join(group, 'cpu.max'), cpuLimit(cpuPercent));
      await moveInto(group, pid);
    });
  }

  /** Kills all that is left of a program that has ended. Never rejects. */
  remove(id: string, project = OTHERS): Promise<void> {
    return this.#inTurn(project, async (home) => {
      await removeTree(join(home, nameOf(id)));
      // Others of the project may be there.
      await rmdir(home);
    });
  }

  /** Kills all that is left of all programs. Never rejects. */
  async close(): Promise<void> {
    await Promise.all(this.#work.values());
    try {
      for (const entry of await readdir(this.#folder, { withFileTypes: true })) {
        if (entry.isDirectory() && entry.name !== KEEPER) await removeTree(join(this.#folder, entry.name));
      }
      await moveInto(this.#former, process.pid);
      await rmdir(join(this.#folder, KEEPER));
      await rmdir(this.#folder);
    } catch {
      // The next one removes it.
    }
  }

  #inTurn(project: string, work: (home: string) => Promise<void>): Promise<void> {
    const before = this.#work.get(project) ?? Promise.resolve();
    const done: Promise<void> = before
      .then(() => work(join(this.#folder, nameOf(project))))
      .catch(() => undefined)
      .then(() => {
        if (this.#work.get(project) === done) this.#work.delete(project);
      });
    this.#work.set(project, done);
    return done;
  }
}

/** The files of the group of a project that bound it, each written where its controller is there. */
function boundsOf({ memoryBytes, cpuPercent }: ProjectLimits): Readonly<Record<string, string>> {
  return {
    'pids.max': String(MOST_PROCESSES),
    'memory.max': memoryBytes === 0 ? 'max' : String(memoryBytes),
    'cpu.max': cpuLimit(cpuPercent),
  };
}

/** 0 is no limit. */
function cpuLimit(percent: number): string {
  return `${percent === 0 ? 'max' : (percent * CPU_SPAN) / 100} ${CPU_SPAN}`;
}

/** Returns the controllers that groups in this one may have from now on. */
async function delegate(base: string, wanted: readonly string[]): Promise<readonly string[]> {
  try {
    const there = (await readFile(join(base, 'cgroup.controllers'), 'utf8')).trim().split(' ');
    const able = wanted.filter((controller) => there.includes(controller));
    if (able.length === 0) return [];
    if (DELEGATION_MARKS.some((name) => hasMark(base, name))) await moveProcesses(base, join(base, FORMER));
    return await enable(base, able);
  } catch {
    return [];
  }
}

function hasMark(path: string, name: string): boolean {
  const value = Buffer.alloc(1);
  return getAttribute(path, name, value, value.length) === 1 && value.toString() === '1';
}

async function moveProcesses(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const pids = (await readFile(join(from, 'cgroup.procs'), 'utf8')).split('\n').filter((pid) => pid !== '');
  // A process that has gone meanwhile is no loss.
  for (const pid of pids) await moveInto(to, Number(pid)).catch(() => undefined);
}

async function moveInto(group: string, pid: number): Promise<void> {
  await writeFile(join(group, 'cgroup.procs'), String(pid));
}

/** Makes the tree with this process in it. Returns whether that went well. */
async function makeTree(folder: string): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      await mkdir(join(folder, KEEPER), { recursive: true });
      await moveInto(join(folder, KEEPER), process.pid);
      return true;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') return false;
    }
  }
  return false;
}

/** Removes the trees without a process, which killed servers have left. */
async function removeLeft(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (!name.startsWith(PREFIX)) continue;
    const group = join(base, name);
    const events = await readFile(join(group, 'cgroup.events'), 'utf8').catch(() => '');
    if (events.includes('populated 0')) await removeEmpty(group).catch(() => undefined);
  }
}

/** Kills nothing: a keeper of another server may move into its new tree at this moment, and this rejects then. */
async function removeEmpty(group: string): Promise<void> {
  const below = await readdir(group, { withFileTypes: true });
  for (const entry of below) if (entry.isDirectory()) await removeEmpty(join(group, entry.name));
  await rmdir(group);
}

/** Returns those that the host allows: limits are optional. */
async function enable(group: string, controllers: readonly string[]): Promise<readonly string[]> {
  const enabled: string[] = [];
  for (const controller of controllers) {
    const written = writeFile(join(group, 'cgroup.subtree_control'), `+${controller}`);
    await written.then(
      () => enabled.push(controller),
      () => undefined,
    );
  }
  return enabled;
}

/** Kills all processes in the group and in those below, and removes them. */
async function removeTree(group: string): Promise<void> {
  try {
    // Kernels before 5.14 have no such file.
    await writeFile(join(group, 'cgroup.kill'), '1', { flag: 'r+' }).catch(() => undefined);
    const below = await readdir(group, { withFileTypes: true });
    for (const entry of below) if (entry.isDirectory()) await removeTree(join(group, entry.name));
    for (let look = 0; look < LOOKS; look++) {
      if (await isRemoved(group)) return;
      await sleep(BETWEEN_MS);
    }
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

/** False as long as processes are in it. */
async function isRemoved(group: string): Promise<boolean> {
  try {
    await rmdir(group);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EBUSY') return false;
    throw error;
  }
}

/** A name in one folder. */
function nameOf(id: string): string {
  return `of-${id.replaceAll(/[^\w-]/g, '.')}`;
}
