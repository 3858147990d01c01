/**
 * The programs of nodes run below a keeper, a small process of its own: starting a process takes long in a large one,
 * and what a keeper holds may outlive the server. This is the server's side. It runs on the HTTP thread, so a thread of
 * its own finds the keeper, or starts it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { KeeperLine } from './keeper-line.js';
import type { KeeperStart, KeeperStarted } from './keeper-starting.js';
import { KeptProgram } from './kept-program.js';
import {
  faultOf,
  NO_LIMITS,
  type KeeperMessage,
  type ProjectLimits,
  type ServerMessage,
  type SpawnConfinement,
  type SpawnOrder,
} from './messages.js';
import { USUAL_NICENESS, type Program, type ProgramEnd, type ProgramOrder } from './program.js';

export type { Program, ProgramEnd, ProgramOrder, ProgramSignal } from './program.js';

/** A keeper that was found may end before it is asked. */
const ATTEMPTS = 5;
/** A keeper that was told to end is killed after this, and its programs with it. */
const END_MS = 10_000;
/** A host whose first process is slow to bury others shows a keeper that has ended for longer: that is not waited for. */
const GONE_LOOKS = 20;
const GONE_LOOK_MS = 5;
const KILLED: ProgramEnd = { code: null, signal: 'SIGKILL' };

interface KeeperOptions {
  /** `<data>/run`; it is made, for this user only. */
  readonly folder: string;
  /** Names the data folder on this host: what has it in its environment and no keeper is killed. */
  readonly mark: string;
  /** The keeper is a service, which is waited for and never started here. */
  readonly isService?: boolean;
  /** How long programs live without a server. */
  readonly graceSeconds: number;
  /** Without it projects have no limits. */
  readonly limits?: ProjectLimits;
  /** How the program of an order that asks for it is confined; undefined when it cannot be. */
  readonly confine?: (order: ProgramOrder) => Promise<SpawnConfinement | undefined>;
  readonly log: Logger;
  /** Called when the keeper has died and its programs with it; their `ended` has resolved. */
  readonly onLost: (ids: readonly string[]) => void;
}

interface SpawnRequest {
  readonly order: ProgramOrder;
  readonly resolve: (program: Program) => void;
  readonly reject: (error: Error) => void;
}

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #programs = new Map<string, KeptProgram>();
  readonly #requests = new Map<number, SpawnRequest>();
  #lastRequest = 0;
  #line: KeeperLine | undefined;
  #opening: Promise<readonly KeptProgram[]> | undefined;
  #hasStarted = false;
  #limitsCpu = false;
  #isClosed = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Whether `cpuPercent` of an order holds: the host lends the controller. Known once a program was started. */
  get limitsCpu(): boolean {
    return this.#limitsCpu;
  }

  /** Resolves with the programs that a keeper has kept; some may have ended meanwhile. */
  async start(): Promise<readonly Program[]> {
    if (process.platform !== 'linux') return [];
    const kept = await this.#open();
    this.#hasStarted = true;
    return kept;
  }

  /** Rejects with a sentence for the user. Starts the keeper again when it has died. */
  async spawn(order: ProgramOrder): Promise<Program> {
    if (process.platform !== 'linux') throw new Error('Programs run on Linux only');
    const confinement = await this.#options.confine?.(order);
    const { niceness = USUAL_NICENESS, memo = null } = order;
    const sent: SpawnOrder = { ...order, niceness, confinement, memo: JSON.stringify(memo) };
    const fault = faultOf(sent);
    if (fault !== undefined) throw new Error(fault);
    if (this.#line === undefined && !this.#isClosed) await this.#open();
    const line = this.#line;
    if (line === undefined || this.#isClosed) throw new Error('The keeper of the programs has ended');
    if (this.#programs.has(order.id)) throw new Error(`A program with the id ${order.id} is running`);
    const request = ++this.#lastRequest;
    return new Promise((resolve, reject) => {
      this.#requests.set(request, { order, resolve, reject });
      line.holdProcess(true);
      line.send({ kind: 'spawn', request, order: sent });
    });
  }

  /** The programs that run. */
  get running(): Iterable<Pick<KeptProgram, 'id' | 'measuredPid'>> {
    return this.#programs.values();
  }

  /** Ends all programs and the keeper; with `keeps` they live for the grace. Resolves when the rest has gone. */
  async close(keeps = false): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => undefined);
    const line = this.#line;
    if (line === undefined) return;
    line.holdProcess(true);
    if (keeps && this.#options.graceSeconds > 0) {
      await line.close();
      return;
    }
    await this.#end(line);
    this.#forget([...this.#programs.values()]);
  }

  /** Connects to the keeper; all who need it at the same time share one attempt. */
  #open(): Promise<readonly KeptProgram[]> {
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #connect(): Promise<readonly KeptProgram[]> {
    const { folder, mark, isService = false, graceSeconds, limits = NO_LIMITS, log } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const start = await KeeperThread.start(folder, mark, isService);
      try {
        const line = await KeeperLine.open(start.path);
        const known = new Set(this.#programs.values());
        const kept: KeptProgram[] = [];
        const greeting = await line?.greet({ mark, graceSeconds, limits }, (message) => {
          this.#received(message, kept);
        });
        if (line === undefined || greeting === 'closed') continue;
        if (greeting === 'busy') throw new Error(`Another server uses the folder ${folder}`);
        if (greeting === 'other') {
          log.warn('the keeper of the programs is of another version and ends with all of them');
          await this.#end(line);
          continue;
        }
        this.#connected(line);
        this.#warnOfLimits(limits, line.controllers);
        // A program whose start was never reported to its owner.
        if (this.#hasStarted) for (const program of kept) if (!known.has(program)) program.kill('SIGKILL');
        return kept;
      } finally {
        await start.end();
      }
    }
    throw new Error('The keeper of the programs cannot be reached');
  }

  #connected(line: KeeperLine): void {
    this.#line = line;
    this.#limitsCpu = line.controllers.includes('cpu');
    line.holdProcess(false);
    void line.closed.then(() => this.#disconnected());
  }

  #warnOfLimits({ memoryBytes, cpuPercent }: ProjectLimits, controllers: readonly string[]): void {
    const wanted = [...(memoryBytes > 0 ? ['memory'] : []), ...(cpuPercent > 0 ? ['cpu'] : [])];
    const lacking = wanted.filter((controller) => !controllers.includes(controller));
    if (lacking.length === 0) return;
    this.#options.log.warn(
      { lacking },
      'limits of projects do not hold: this host lends the server no cgroup v2 with these controllers',
    );
  }

  #received(message: KeeperMessage, kept: KeptProgram[]): void {
    switch (message.kind) {
      case 'kept': {
        const { id } = message;
        kept.push(this.#programs.get(id) ?? this.#add({ ...message, memo: JSON.parse(message.memo) }));
        return;
      }
      case 'output':
        this.#programs.get(message.id)?.take(message.at, message.bytes);
        return;
      case 'ended': {
        const program = this.#programs.get(message.id);
        this.#programs.delete(message.id);
        program?.end(message.end);
        return;
      }
      case 'spawned':
        this.#answered(message.request, ({ order, resolve }) => {
          resolve(this.#add({ ...order, pid: message.pid, remembered: new Uint8Array(0) }));
        });
        return;
      case 'refused':
        this.#answered(message.request, ({ reject }) => {
          reject(new Error(message.reason));
        });
        return;
      case 'hello':
      case 'busy':
      case 'welcome':
        return;
    }
  }

  #add(known: Pick<Program, 'id' | 'pid' | 'memo' | 'remembered'>): KeptProgram {
    const program = new KeptProgram(known, (message) => {
      this.#send(message);
    });
    this.#programs.set(known.id, program);
    return program;
  }

  #send(message: ServerMessage): void {
    // Without a grace there is no next server.
    if (message.kind === 'remember' && this.#options.graceSeconds === 0) return;
    this.#line?.send(message);
  }

  #answered(number: number, answer: (request: SpawnRequest) => void): void {
    const request = this.#requests.get(number);
    if (request === undefined) return;
    this.#requests.delete(number);
    if (this.#requests.size === 0) this.#line?.holdProcess(false);
    answer(request);
  }

  /** The keeper has died, unless only the connection has. A new one looks for what is left of its programs. */
  async #disconnected(): Promise<void> {
    this.#line = undefined;
    for (const { reject } of this.#requests.values())
      reject(new Error('The keeper of the programs ended before it had started the program'));
    this.#requests.clear();
    if (this.#isClosed) return;
    const { log, onLost } = this.#options;
    const held = [...this.#programs.values()];
    log.error({ programs: held.length }, 'the keeper of the programs has ended');
    if (held.length === 0) return;
    let kept: readonly KeptProgram[] = [];
    try {
      kept = await this.#open();
    } catch (error) {
      log.error({ err: error }, 'the keeper of the programs does not start again');
    }
    const lost = held.filter((program) => program.isRunning && !kept.includes(program));
    this.#forget(lost);
    if (lost.length > 0) onLost(lost.map(({ id }) => id));
  }

  #forget(programs: readonly KeptProgram[]): void {
    for (const program of programs) {
      this.#programs.delete(program.id);
      program.end(KILLED);
    }
  }

  async #end(line: KeeperLine): Promise<void> {
    line.send({ kind: 'end' });
    const { pid } = line;
    const patience = setTimeout(() => {
      if (pid !== undefined) signal(pid, 'SIGKILL');
    }, END_MS);
    await line.closed;
    clearTimeout(patience);
    // The connection closes a moment before the process has gone.
    for (let look = 0; look < GONE_LOOKS && pid !== undefined && signal(pid, 0); look++) {
      await sleep(GONE_LOOK_MS);
    }
  }
}

/** Whether the process is there. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

/** The thread that finds or starts the keeper. */
class KeeperThread {
  readonly path: string;
  readonly #thread: Worker;

  static async start(folder: string, mark: string, isService: boolean): Promise<KeeperThread> {
    const program = new URL('../../../workers/keeper-worker.js', import.meta.url);
    const thread = new Worker(new URL('../../../workers/keeper-start-worker.js', import.meta.url), {
      workerData: { folder, mark, isService, entry: fileURLToPath(program) } satisfies KeeperStart,
    });
    const started = await new Promise<KeeperStarted>((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', reject);
      thread.once('exit', () => {
        reject(new Error('The thread that starts the keeper of the programs ended'));
      });
    });
    if ('path' in started) return new KeeperThread(thread, started.path);
    await thread.terminate();
    throw new Error(`The keeper of the programs does not start: ${started.failure}`);
  }

  private constructor(thread: Worker, path: string) {
    this.#thread = thread;
    this.path = path;
  }

  /** The path leads nowhere afterwards. */
  async end(): Promise<void> {
    await this.#thread.terminate();
  }
}
