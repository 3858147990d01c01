/**
 * The ways between the hosts of computes: whenever a compute is connected, each pair that it makes is tried with datagrams
 * that must not be cut, one pair at a time. A compute of GNS3 echoes none: of its ways only what the other host knows is told.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { isRefusal, messageOf } from '../../base/errors/errors.js';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { ComputeCall, HostPath } from '../../lab/other-computes.js';
import {
  PROBED_FRAMES,
  type PathEcho,
  type PathFinding,
  type PathProbes,
} from '../../run/links/path-probes.js';
import type { TunnelAddresses } from './tunnel-addresses.js';

/** With more computes than these only the ways to this server are tried. */
const MOST_PAIRED = 32;
const [, , FULL_FRAME] = PROBED_FRAMES;
/** The headers around a frame, of IPv6 and UDP or of IPv4 and UDP. */
const HEADERS = { ipv6: 48, ipv4: 28 } as const;

const NO_ECHO = 'one of the two computes echoes no datagrams, as those of GNS3';

const tunnel = z.object({ echoes: z.boolean() });
const pathEcho = z.object({ udp_port: z.int().min(1).max(65_535), word: z.string().max(64) });
const finding = z.object({
  largest_frame: z.int().min(0).max(FULL_FRAME).nullable(),
  route_mtu: z.int().min(0).nullable(),
});

interface KnownPath extends PathFinding {
  readonly state: HostPath['state'];
  /** The addresses of both computes, by their ids. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly reason: string | null;
  readonly at: number | null;
}

const NOTHING: KnownPath = {
  ...{ state: 'unknown', largest_frame: null, route_mtu: null },
  ...{ addresses: new Map(), reason: null, at: null },
};

interface HostPathsOptions {
  readonly addresses: Pick<TunnelAddresses, 'between'>;
  /** The probes of this server. */
  readonly here: Pick<PathProbes, 'echo' | 'echoes' | 'probe'>;
  readonly nameOf: (id: string) => string;
  readonly ask: (id: string, call: ComputeCall) => Promise<unknown>;
  readonly warn: (message: string) => void;
  readonly now: () => number;
  readonly log: Logger;
}

export class HostPaths {
  readonly #options: HostPathsOptions;
  /** The computes that are connected; true for those that echo. */
  readonly #hosts = new Map<string, boolean>();
  readonly #paths = new Map<string, KnownPath>();
  /** The computes and pairs that wait, each once: one that connects again and again adds nothing. */
  readonly #waiting = new Set<string>();
  #last: Promise<void> = Promise.resolve();

  constructor(options: HostPathsOptions) {
    this.#options = options;
    this.#hosts.set(LOCAL_COMPUTE, options.here.echoes);
  }

  connected(id: string): void {
    this.#follow(id, async () => {
      this.#hosts.set(id, await this.#echoes(id));
      const isSmall = this.#hosts.size <= MOST_PAIRED;
      for (const other of this.#hosts.keys()) if (isSmall || other === LOCAL_COMPUTE) this.#try(id, other);
    });
  }

  disconnected(id: string): void {
    this.#hosts.delete(id);
    for (const [key, { addresses }] of this.#paths) if (addresses.has(id)) this.#paths.delete(key);
  }

  /** The ways from a compute to these others. */
  of(id: string, others: Iterable<string>): HostPath[] {
    return [...others].map((other) => {
      const { addresses, at, ...known } = this.#paths.get(keyOf(id, other)) ?? NOTHING;
      return {
        compute_id: other,
        name: this.#options.nameOf(other),
        address: addresses.get(id) ?? null,
        far_address: addresses.get(other) ?? null,
        ...known,
        probed_at: at,
      };
    });
  }

  /** A compute of GNS3 does not know the question. */
  async #echoes(id: string): Promise<boolean> {
    try {
      const answer = await this.#options.ask(id, { method: 'GET', path: '/tunnel' });
      return tunnel.safeParse(answer).data?.echoes ?? false;
    } catch (error) {
      if (isRefusal(error, 'compute_refused')) return false;
      throw error;
    }
  }

  #try(one: string, other: string): void {
    if (one === other) return;
    const key = keyOf(one, other);
    const areThere = (): boolean => this.#hosts.has(one) && this.#hosts.has(other);
    this.#follow(key, async () => {
      if (!areThere()) return;
      const known = await this.#known(one, other);
      if (!areThere()) return;
      this.#paths.set(key, known);
      const [a, b] = [one, other].map(
        (id) => `${this.#options.nameOf(id)} (${known.addresses.get(id) ?? ''})`,
      );
      this.#tell(known.state, `${a ?? ''} and ${b ?? ''}`);
    });
  }

  async #known(one: string, other: string): Promise<KnownPath> {
    const at = this.#options.now();
    let addresses: KnownPath['addresses'] = new Map([one, other].map((id) => [id, '']));
    try {
      const [near, far] = await this.#options.addresses.between(one, other);
      addresses = new Map([
        [one, near],
        [other, far],
      ]);
      const found = await this.#probe([one, near], [other, far]);
      const state = stateOf(found, near, far);
      return { ...found, state, addresses, at, reason: state === 'unknown' ? NO_ECHO : null };
    } catch (error) {
      return { ...NOTHING, addresses, at, reason: messageOf(error) };
    }
  }

  async #probe(
    [one, near]: readonly [id: string, address: string],
    [other, far]: readonly [id: string, address: string],
  ): Promise<PathFinding> {
    const echoes = [one, other].map((id) => this.#hosts.get(id) ?? false);
    if (!echoes.includes(true)) return { largest_frame: null, route_mtu: null };
    if (!echoes.includes(false)) {
      const echo = await this.#echo(other, near);
      return this.#send(one, far, echo);
    }
    return echoes[0] === true ? this.#send(one, far, undefined) : this.#send(other, near, undefined);
  }

  async #echo(id: string, towards: string): Promise<PathEcho | undefined> {
    if (id === LOCAL_COMPUTE) return this.#options.here.echo(towards);
    const call: ComputeCall = { method: 'POST', path: '/tunnel/echo', body: { towards } };
    return pathEcho.parse(await this.#options.ask(id, call));
  }

  async #send(id: string, host: string, echo: PathEcho | undefined): Promise<PathFinding> {
    if (id === LOCAL_COMPUTE) return this.#options.here.probe(host, echo);
    const call: ComputeCall = { method: 'POST', path: '/tunnel/probe', body: { host, echo } };
    return finding.parse(await this.#options.ask(id, call));
  }

  #tell(state: HostPath['state'], pair: string): void {
    const { log, warn } = this.#options;
    if (state !== 'slow' && state !== 'blocked') return;
    const message =
      state === 'slow'
        ? `Links between ${pair} will be slow: a full frame does not pass in one piece. An MTU of 1600 between the hosts is enough`
        : `Links between ${pair} may carry nothing: no datagram came back. A firewall may stop UDP`;
    log.warn({ pair, state }, 'the way between two hosts is bad for links');
    warn(message);
  }

  /** Does the work for this compute or pair after all that waits; nothing is added when it waits already. */
  #follow(subject: string, work: () => Promise<void>): void {
    if (this.#waiting.has(subject)) return;
    this.#waiting.add(subject);
    this.#last = this.#last
      .then(() => {
        this.#waiting.delete(subject);
        return work();
      })
      .catch((error: unknown) => {
        this.#options.log.info({ reason: messageOf(error) }, 'a way between two hosts could not be tried');
      });
  }
}

function keyOf(one: string, other: string): string {
  return JSON.stringify([one, other].sort());
}

function stateOf(
  { largest_frame: largest, route_mtu: mtu }: PathFinding,
  near: string,
  far: string,
): HostPath['state'] {
  if (near === far || largest === FULL_FRAME) return 'whole';
  if (largest !== null) return largest === 0 ? 'blocked' : 'slow';
  const needed = FULL_FRAME + (far.includes(':') ? HEADERS.ipv6 : HEADERS.ipv4);
  return mtu !== null && mtu < needed ? 'slow' : 'unknown';
}
