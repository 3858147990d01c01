/**
 * Tells systemd, or another manager of services with its protocol, what becomes of the server that it has started: that it
 * takes requests, reads its settings again, ends, and how it is. With a watchdog it says that it is alive as long as the
 * event loop and the state thread come round. An engine that stands is no matter of systemd: its supervisor starts it
 * again. A server that somebody else has started says nothing.
 */
import type { Logger } from 'pino';
import type { Engines } from '../engine/control/engines.js';
import type { Projects } from '../lab/projects/projects.js';
import { NotifySocket } from './notify-socket.js';
import type { Readiness } from './readiness.js';
import type { StoreProbe } from './store-probe.js';

/** A start that reads much is given so much more time, again and again, but not for ever. */
const EXTENSION_MS = 30_000;
const EXTENDED_EVERY_MS = 10_000;
const MOST_EXTENSIONS = 360;
/** The status is told so often, if it has changed; a watchdog may want more. */
const LOOK_MS = 10_000;

/** The variables by which systemd says how it is told. */
export interface SystemdWishes {
  /** The name of its socket. */
  readonly socket: string | undefined;
  /** The time within which a sign of life is wanted; 0 when none is. */
  readonly watchdogMs: number;
}

interface Watched {
  readonly readiness: Readiness;
  readonly probe: StoreProbe;
  readonly engines: Pick<Engines, 'running'>;
  readonly projects: Projects;
}

export class Systemd {
  readonly #socket: NotifySocket | undefined;
  readonly #watchdogMs: number;
  #timer: NodeJS.Timeout | undefined;
  #status = '';
  #isStopping = false;
  #turn: Promise<void> = Promise.resolve();

  constructor({ socket, watchdogMs }: SystemdWishes, log: Logger) {
    this.#socket = socket === undefined ? undefined : NotifySocket.open(socket);
    this.#watchdogMs = watchdogMs;
    if (socket !== undefined && this.#socket === undefined)
      log.warn({ socket }, 'systemd cannot be told of this server: its socket is of no known kind');
  }

  get isThere(): boolean {
    return this.#socket !== undefined;
  }

  /** The server reads what is stored, for which systemd is to wait. */
  starting(): void {
    if (this.#socket === undefined) return;
    let extensions = 0;
    const extend = (): void => {
      if (extensions++ < MOST_EXTENSIONS) this.#tell(`EXTEND_TIMEOUT_USEC=${EXTENSION_MS * 1000}`);
    };
    this.#tell('STATUS=Reads what is stored');
    extend();
    this.#timer = setInterval(extend, EXTENDED_EVERY_MS).unref();
  }

  /** The server takes requests. From now on it tells how it is. */
  ready(watched: Watched): void {
    if (this.#socket === undefined) return;
    clearInterval(this.#timer);
    this.#tell('READY=1');
    void this.#watch(watched);
  }

  /** `reload` reads settings again; it tells itself when it has failed. */
  async reloading(reload: () => Promise<unknown>): Promise<void> {
    // The time of the monotonic clock tells systemd that this is the answer to its signal.
    this.#tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
    await reload().catch(() => undefined);
    this.#tell('READY=1');
  }

  stopping(): void {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#tell('STOPPING=1', 'STATUS=Ends');
  }

  async #watch(watched: Watched): Promise<void> {
    await this.#look(watched);
    if (this.#isStopping) return;
    const everyMs = this.#watchdogMs === 0 ? LOOK_MS : Math.min(LOOK_MS, this.#watchdogMs / 2);
    this.#timer = setTimeout(() => void this.#watch(watched), everyMs).unref();
  }

  async #look({ readiness, probe, engines, projects }: Watched): Promise<void> {
    if (this.#watchdogMs > 0 && (await probe.comesRound())) this.#socket?.send(['WATCHDOG=1']);
    const failing = await readiness.failing();
    const state = failing.length === 0 ? 'Takes new work' : `Takes no new work (${failing.join(', ')})`;
    const open = [...projects.all.values()].filter(({ isOpen }) => isOpen).length;
    const status = `${state}: ${open} open labs, ${engines.running} engines run`.replaceAll(/\s/g, ' ');
    if (status === this.#status || this.#isStopping) return;
    this.#status = status;
    this.#tell(`STATUS=${status}`);
  }

  /** Messages arrive in order. */
  #tell(...lines: readonly string[]): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#turn = this.#turn.then(() => socket.deliver(lines));
  }
}
