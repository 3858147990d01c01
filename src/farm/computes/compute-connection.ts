/**
 * The connection with one compute: it is asked for its capabilities and tells its notifications by a WebSocket. One that
 * breaks is made again after a second, then every five; not in a hurry when the compute does not want us.
 */
import { WebSocket } from 'ws';
import { z } from 'zod';
import { isRefusal, messageOf, refusals } from '../../base/errors/errors.js';
import { nodeType } from '../../lab/gns3-file/topology-schema.js';
import type { FarAnswer, FarRequest, FarSocket, FarSocketUser } from '../../lab/far-node.js';
import { OUT_OF_REACH, type Compute, type ComputeCall, type ComputeReach } from '../../lab/other-computes.js';
import type { ComputeEvent } from './compute-event.js';
import { lookupInTurn } from './name-lookup.js';
import { ComputeClient, SilentCompute } from './compute-client.js';
import { ComputeStreams } from './compute-streams.js';
import { DEADLINE_MS } from './deadlines.js';

const AGAIN_AFTER_MS = { loss: 1000, failure: 5000, refusal: 60_000 } as const;
const HANDSHAKE_MS = 5000;
/** Computes ping every second. */
const SILENCE_MS = 10_000;
const LARGEST_EVENT = 1024 * 1024;
/** A compute that tells more in a second is read again in the next one. */
const MOST_TOLD = { events: 2000, octets: 4 * 1024 * 1024, everyMs: 1000 } as const;
const REFUSALS = ['compute_unauthorized', 'compute_of_other_version', 'compute_is_self'] as const;

const capabilities = z.object({
  version: z.string().max(100),
  node_types: z.array(z.string()).max(100).default([]),
  platform: z.string().max(100).optional(),
  dialect: z.int().min(0).default(0),
  tunnel_address: z.union([z.ipv4(), z.ipv6()]).optional().catch(undefined),
  life: z.string().max(64).optional(),
  host: z
    .object({
      memory_mib: z.int().min(0),
      processors: z.int().min(0),
      kvm: z.array(z.string().max(100)).max(100),
      server: z.string().max(255).optional(),
    })
    .transform(({ memory_mib: memoryMib, ...rest }) => ({ memoryMib, ...rest }))
    .optional()
    .catch(undefined),
});
const told = z.object({
  action: z.string(),
  event: z.record(z.string(), z.unknown()).default({}),
  project_id: z.string().optional(),
});
const percent = z.number().min(0).max(100).nullable().catch(null);
const load = z.object({ cpu_usage_percent: percent, memory_usage_percent: percent });

interface ConnectionOptions {
  readonly compute: Compute;
  /** The version of GNS3 that this server speaks. */
  readonly version: string;
  /** The word by which this server knows its own requests. */
  readonly mark: string;
  /** The reach is another. */
  readonly changed: () => void;
  readonly connected: () => void;
  readonly disconnected: (reason: string) => void;
  readonly told: (event: ComputeEvent) => void;
}

export class ComputeConnection {
  readonly #options: ConnectionOptions;
  readonly #client: ComputeClient;
  readonly #streams: ComputeStreams;
  #reach: ComputeReach = OUT_OF_REACH;
  #socket: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#client = new ComputeClient(options.compute);
    this.#streams = new ComputeStreams(this.#client);
    void this.#connect();
  }

  get reach(): ComputeReach {
    return this.#reach;
  }

  get compute(): Compute {
    return this.#options.compute;
  }

  /** Refuses what the compute refuses. One that is silent loses its connection, so that nothing else waits for it. */
  async ask(call: ComputeCall, deadlineMs: number = DEADLINE_MS.usual): Promise<unknown> {
    const { name } = this.compute;
    if (!this.#reach.isConnected) throw refusals.computeNotConnected(name, `${call.method} ${call.path}`);
    try {
      return await this.#client.ask(call, deadlineMs);
    } catch (error) {
      if (!(error instanceof SilentCompute)) throw error;
      const refusal = refusals.computeSilent(name, messageOf(error));
      this.#lose(refusal.message);
      throw refusal;
    }
  }

  /** A stream that has begun goes on when this connection is lost: it ends by itself, or with its client. */
  open(request: FarRequest): Promise<FarAnswer> {
    const { name } = this.compute;
    const { method, path } = request;
    if (!this.#reach.isConnected)
      return Promise.reject(refusals.computeNotConnected(name, `${method} ${path}`));
    return this.#streams.open(request);
  }

  connect(path: string, user: FarSocketUser): FarSocket {
    if (!this.#reach.isConnected) throw refusals.computeNotConnected(this.compute.name, `GET ${path}`);
    return this.#streams.connect(path, user);
  }

  close(): void {
    this.#isClosed = true;
    this.#streams.close();
    clearTimeout(this.#timer);
    this.#lose('it is not on record any more');
    this.#client.close();
  }

  async #connect(): Promise<void> {
    const { changed, connected } = this.#options;
    try {
      const found = await this.#capabilities();
      await this.#listen();
      const {
        node_types: types,
        dialect,
        host,
        life,
        platform,
        version,
        tunnel_address: tunnelAddress,
      } = found;
      // Kinds that this server does not know cannot be in its labs.
      const nodeTypes = types.flatMap((type) => nodeType.safeParse(type).data ?? []);
      const told = { nodeTypes, dialect, host, life, platform, version, tunnelAddress };
      this.#reach = { ...OUT_OF_REACH, isConnected: true, ...told };
      changed();
      connected();
    } catch (error) {
      if (this.#isClosed) return;
      this.#socket?.terminate();
      const lastError = messageOf(error);
      const isNews = lastError !== this.#reach.lastError;
      const isSelf = this.#reach.isSelf || isRefusal(error, 'compute_is_self');
      this.#reach = { ...this.#reach, isConnected: false, cpu: null, memory: null, lastError, isSelf };
      if (isNews) changed();
      this.#again(isRefusal(error, ...REFUSALS) ? AGAIN_AFTER_MS.refusal : AGAIN_AFTER_MS.failure);
    }
  }

  async #capabilities(): Promise<z.output<typeof capabilities>> {
    const { compute, mark, version } = this.#options;
    const path = `/capabilities?controller=${mark}`;
    const found = capabilities.safeParse(
      await this.#client.ask({ method: 'GET', path }, HANDSHAKE_MS).catch((error: unknown) => {
        throw error instanceof SilentCompute ? refusals.computeSilent(compute.name, messageOf(error)) : error;
      }),
    );
    if (!found.success) throw refusals.notACompute(compute.name);
    if (seriesOf(found.data.version) !== seriesOf(version))
      throw refusals.computeOfOtherVersion(version, compute.name, found.data.version);
    return found.data;
  }

  /** Resolves when the notifications have begun. */
  async #listen(): Promise<void> {
    const socket = new WebSocket(this.#client.address('ws', '/notifications/ws'), {
      headers: this.#client.headers,
      lookup: lookupInTurn,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: LARGEST_EVENT,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    await new Promise<void>((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
    });
    const end = (): void => {
      if (this.#socket === socket) this.#lose(`The connection with compute ${this.compute.name} was lost`);
    };
    if (this.#isClosed) {
      socket.terminate();
      throw refusals.computeNotConnected(this.compute.name, 'GET /notifications/ws');
    }
    const silence = setTimeout(end, SILENCE_MS);
    const budget = new Budget(socket);
    socket.on('message', (data: Buffer) => {
      silence.refresh();
      budget.take(data.length);
      this.#receive(data);
    });
    socket.on('close', () => {
      clearTimeout(silence);
      budget.end();
      end();
    });
  }

  #receive(data: Buffer): void {
    const found = told.safeParse(parsed(data));
    if (!found.success) return;
    const { action, event, project_id: projectId } = found.data;
    if (action !== 'ping') {
      this.#options.told({ action, event, projectId });
      return;
    }
    const { data: now } = load.safeParse(event);
    if (now === undefined || !this.#reach.isConnected) return;
    this.#reach = { ...this.#reach, cpu: now.cpu_usage_percent, memory: now.memory_usage_percent };
    this.#options.changed();
  }

  #lose(reason: string): void {
    this.#socket?.terminate();
    this.#socket = undefined;
    if (!this.#reach.isConnected) return;
    this.#reach = { ...this.#reach, isConnected: false, cpu: null, memory: null, lastError: reason };
    this.#options.changed();
    this.#options.disconnected(reason);
    this.#again(AGAIN_AFTER_MS.loss);
  }

  #again(afterMs: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), afterMs);
    this.#timer.unref();
  }
}

/** The first two numbers of a version. */
function seriesOf(version: string): string {
  return version.split('.', 2).join('.');
}

function parsed(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Lets a socket wait that tells too much. */
class Budget {
  readonly #socket: WebSocket;
  readonly #timer: NodeJS.Timeout;
  #events = 0;
  #octets = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#timer = setInterval(() => {
      this.#events = this.#octets = 0;
      if (socket.isPaused) socket.resume();
    }, MOST_TOLD.everyMs);
    this.#timer.unref();
  }

  take(octets: number): void {
    this.#octets += octets;
    if (++this.#events > MOST_TOLD.events || this.#octets > MOST_TOLD.octets) this.#socket.pause();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
