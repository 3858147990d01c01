/**
 * The keeper: a process that starts the programs of nodes, holds their consoles, and tells the server what becomes of
 * them. It serves one server at a time, on a socket in a folder that is open to this user only. When a server has left, it
 * ends all programs and itself, after the grace that this one has asked for. A keeper that a manager of services has
 * started is started again by it then, from the version that is installed now.
 */
import { closeSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { createServer, Socket, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockFolders } from '../../base/disk/folder-lock.js';
import { messageOf } from '../../base/errors/errors.js';
import { ControlGroups, ownControlGroup } from './control-groups.js';
import { endMarked } from './marked-processes.js';
import { faultOf, KEEPER_VERSION, NO_LIMITS, type ServerMessage, type SpawnOrder } from './messages.js';
import { ServerLink } from './server-link.js';
import { SpawnedProgram } from './spawned-program.js';

const SOCKET_NAME = 'keeper.sock';
/** The starter holds the other end until a server is connected, and reads one line from it: the keeper is ready. */
const STARTER_FD = 3;

const MOST_PROGRAMS = 4096;
/** A connection that has not said hello is cut, and one that finds another server waits for the end of that one. */
const HELLO_MS = 5000;
const HANDOVER_MS = 1000;
/** A server that was cut for a fault of the protocol may come back, so its programs live so long at least. */
const FAULT_GRACE_SECONDS = 10;
/** Programs are asked to end, and then killed. */
const ASKED_MS = 500;
const KILLED_MS = 3000;
/** Processes that have left the group of an ended program are looked for at most so often. */
const SWEEP_MS = 1000;
/** A keeper that ends is waited for so long. */
const LOCK_MS = 10_000;
const LOCK_LOOK_MS = 20;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** In the flags of a descriptor: it is none that this process was started with. */
const CLOSE_ON_EXEC = 0o2000000;
const OWN_SOCKET_MASK = 0o177;

interface KeeperSurroundings {
  readonly folder: string;
  readonly mark: string;
  /** A server has started it, and not a manager of services, whose SIGTERM counts also while a server is connected. */
  readonly isOfServer: boolean;
}

/** Resolves when the keeper is ready. It ends by itself: when nothing is left to do, the process ends. */
export async function runKeeper(surroundings: KeeperSurroundings): Promise<void> {
  const { folder, mark, isOfServer } = surroundings;
  if (isOfServer) closeInherited();
  process.chdir(folder);
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  await lockFolder(folder);
  // These have outlived the last keeper.
  await endMarked(mark, () => false);
  rmSync(SOCKET_NAME, { force: true });
  const base = await ownControlGroup();
  const groups = base === undefined ? undefined : await ControlGroups.open({ base, mark });
  await new KeeperProcess(surroundings, groups).listen();
}

/** Waits for the end of the last keeper, which might take programs of this one for its own. */
async function lockFolder(folder: string): Promise<void> {
  const deadline = performance.now() + LOCK_MS;
  for (;;) {
    try {
      lockFolders([folder]);
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(LOCK_LOOK_MS);
  }
}

/**
 * Descriptors of the server that came along would keep its sockets and locks in use. Those of this process are all
 * closed on exec, so the others are inherited.
 */
function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const fd = Number(name);
    if (fd <= STARTER_FD) continue;
    try {
      const [, flags = ''] = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
      if ((Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(fd);
    } catch {
      // It was open while the folder was read only.
    }
  }
}

class KeeperProcess {
  readonly #mark: string;
  readonly #groups: ControlGroups | undefined;
  readonly #socket: Server;
  readonly #starter: Socket | undefined;
  /** Programs that have ended stay here until a server knows. */
  readonly #programs = new Map<string, SpawnedProgram>();
  readonly #links = new Set<ServerLink>();
  #server: ServerLink | undefined;
  /** Called when the server has gone. */
  readonly #handover = new Set<() => void>();
  #graceSeconds = 0;
  #grace: NodeJS.Timeout | undefined;
  #sweep: NodeJS.Timeout | undefined;
  /** Programs are started one after the other, and output is read between two starts. */
  #turn: Promise<void> = Promise.resolve();
  #isEnding = false;

  constructor({ mark, isOfServer }: KeeperSurroundings, groups: ControlGroups | undefined) {
    this.#mark = mark;
    this.#groups = groups;
    if (isOfServer) this.#starter = new Socket({ fd: STARTER_FD });
    this.#socket = createServer((sink) => {
      this.#connected(sink);
    });
  }

  async listen(): Promise<void> {
    const starter = this.#starter;
    starter?.on('error', () => undefined);
    starter?.on('data', () => undefined);
    starter?.once('close', () => {
      // The server ended before it was connected.
      if (this.#server === undefined && this.#grace === undefined) void this.#end();
    });
    process.on('SIGTERM', () => {
      // A signal to a group of processes ends the server, too, which has its own way of stopping programs.
      if (this.#server === undefined || starter === undefined) void this.#end();
    });
    const mask = process.umask(OWN_SOCKET_MASK);
    await new Promise<void>((resolve, reject) => {
      this.#socket.once('error', reject);
      this.#socket.listen(SOCKET_NAME, resolve);
    });
    // A connection that could not be accepted.
    this.#socket.on('error', () => undefined);
    process.umask(mask);
    if (starter !== undefined) writeSync(STARTER_FD, 'ready\n');
  }

  #connected(sink: Socket): void {
    let hasGreeted = false;
    const link: ServerLink = new ServerLink(sink, {
      received: (message) => {
        if (this.#server === link) this.#obey(link, message);
        else if (message.kind === 'hello' && !hasGreeted) {
          hasGreeted = true;
          clearTimeout(patience);
          void this.#greet(link, message);
        } else throw new Error('no server that is known');
      },
      reported: (program) => {
        if (this.#programs.get(program.id) === program) this.#programs.delete(program.id);
      },
      closed: (isFaulty) => {
        clearTimeout(patience);
        this.#links.delete(link);
        if (this.#server === link) this.#serverGone(isFaulty);
      },
    });
    const patience = setTimeout(() => {
      link.destroy();
    }, HELLO_MS);
    this.#links.add(link);
  }

  async #greet(link: ServerLink, hello: ServerMessage & { readonly kind: 'hello' }): Promise<void> {
    if (this.#server !== undefined) await this.#serverLeaves();
    if (!link.isOpen || this.#isEnding) return;
    if (this.#server !== undefined) {
      link.send({ kind: 'busy' });
      link.finish();
      return;
    }
    this.#server = link;
    clearTimeout(this.#grace);
    this.#grace = undefined;
    // No program may inherit it.
    this.#starter?.destroy();
    link.send({ kind: 'hello', version: KEEPER_VERSION, mark: this.#mark, pid: process.pid });
    // A server of another kind ends this keeper, or goes.
    if (hello.version !== KEEPER_VERSION || hello.mark !== this.#mark) return;
    this.#graceSeconds = hello.graceSeconds;
    if (this.#groups !== undefined) this.#groups.limits = hello.limits ?? NO_LIMITS;
    await this.#turn;
    await link.introduce(this.#programs.values(), this.#groups?.controllers ?? []);
  }

  /** Resolves when it has gone, or after a while: the end of a connection may be noticed after the next one's hello. */
  #serverLeaves(): Promise<void> {
    return new Promise((resolve) => {
      const leave = (): void => {
        clearTimeout(patience);
        this.#handover.delete(leave);
        resolve();
      };
      const patience = setTimeout(leave, HANDOVER_MS);
      this.#handover.add(leave);
    });
  }

  #serverGone(isFaulty: boolean): void {
    this.#server = undefined;
    if (this.#isEnding) return;
    for (const program of this.#programs.values())
      if (program.endsWithServer && !isFaulty) program.kill('SIGKILL');
    const seconds = isFaulty ? Math.max(this.#graceSeconds, FAULT_GRACE_SECONDS) : this.#graceSeconds;
    this.#grace = setTimeout(
      () => {
        void this.#end();
      },
      Math.min(seconds * 1000, LONGEST_TIMER_MS),
    );
    for (const leave of this.#handover) leave();
  }

  #obey(link: ServerLink, message: ServerMessage): void {
    switch (message.kind) {
      case 'hello':
        throw new Error('a server says hello once');
      case 'end':
        void this.#end();
        return;
      case 'spawn': {
        const { request, order } = message;
        this.#turn = this.#turn.then(() => this.#spawn(link, request, order));
        return;
      }
      case 'input':
        this.#programs.get(message.id)?.write(message.bytes);
        return;
      case 'remember':
        this.#programs.get(message.id)?.remembered.push(message.bytes);
        return;
      case 'resize':
        this.#programs.get(message.id)?.resize(message.columns, message.rows);
        return;
      case 'kill':
        this.#programs.get(message.id)?.kill(message.signal);
        return;
    }
  }

  async #spawn(link: ServerLink, request: number, order: SpawnOrder): Promise<void> {
    try {
      const fault = this.#faultOf(order);
      if (fault !== undefined) throw new Error(fault);
      const program = await SpawnedProgram.start(order, this.#mark, (changed) => {
        this.#changed(changed);
      });
      this.#programs.set(program.id, program);
      void this.#groups?.add(program.id, program.pid, program.project, order.cpuPercent);
      if (this.#isEnding || (program.endsWithServer && !link.isOpen)) program.kill('SIGKILL');
      link.send({ kind: 'spawned', request, pid: program.pid });
      link.began(program);
    } catch (error) {
      link.send({ kind: 'refused', request, reason: messageOf(error) });
      // The failure may have come after the launch.
      this.#sweepSoon();
    }
    // Lets other events have their turn.
    await new Promise(setImmediate);
  }

  #faultOf(order: SpawnOrder): string | undefined {
    if (this.#isEnding) return 'The keeper of the programs is ending';
    if (this.#programs.has(order.id)) return `A program with the id ${order.id} is running`;
    if (this.#programs.size >= MOST_PROGRAMS) return `There are ${MOST_PROGRAMS} programs, which is the most`;
    return faultOf(order);
  }

  #changed(program: SpawnedProgram): void {
    for (const link of this.#links) link.changed(program);
    if (program.end === undefined) return;
    void this.#groups?.remove(program.id, program.project);
    this.#sweepSoon();
  }

  #sweepSoon(): void {
    this.#sweep ??= setTimeout(() => {
      void this.#sweepNow();
    }, SWEEP_MS);
  }

  async #sweepNow(): Promise<void> {
    const isRunning = (id: string): boolean => this.#programs.get(id)?.isRunning === true;
    try {
      await endMarked(this.#mark, isRunning);
    } catch {
      // The host lacks descriptors. The next end of a program, or of the keeper, leads to another look.
    }
    this.#sweep = undefined;
  }

  /** Ends all programs, and then this process, by leaving it nothing to do. */
  async #end(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    clearTimeout(this.#grace);
    this.#starter?.destroy();
    this.#socket.close();
    await this.#turn;
    this.#killAll('SIGTERM');
    await this.#allEnd(ASKED_MS);
    this.#killAll('SIGKILL');
    await this.#allEnd(KILLED_MS);
    await endMarked(this.#mark, () => false);
    await this.#groups?.close();
    clearTimeout(this.#sweep);
    for (const program of this.#programs.values()) program.release();
    for (const link of this.#links) link.finish();
  }

  #killAll(signal: 'SIGTERM' | 'SIGKILL'): void {
    for (const program of this.#programs.values()) program.kill(signal);
  }

  async #allEnd(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    const isLeft = (): boolean => [...this.#programs.values()].some(({ end }) => end === undefined);
    while (isLeft() && performance.now() < deadline) await sleep(5);
  }
}
