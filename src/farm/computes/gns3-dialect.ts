/** A part of a project by GNS3's calls: one for each node and for each end of a link. */
import { z } from 'zod';
import { isRefusal, Refusal } from '../../base/errors/errors.js';
import { isEmulator } from '../../files/images/image-name.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { RunEnd } from '../../lab/lab-run.js';
import { DEADLINE_MS } from './deadlines.js';
import type { Dialect, DialectOptions, NodeWish, PortAt, TunnelEnd } from './dialect.js';
import { nodeBody, nodePath } from './node-body.js';

const projectList = z.array(z.object({ project_id: z.string() }));
/** Images of one node. */
const MOST_PUSHED = 16;
const givenPort = z.object({ udp_port: z.int().min(1).max(65_535) });

export class Gns3Dialect implements Dialect {
  readonly nodesAtOnce = 1;
  readonly changesSwitches = false;
  readonly filtersOneWay = false;
  readonly #options: DialectOptions;
  /** Ports that were asked for and never used: a compute takes none back before the project is closed. */
  readonly #sparePorts: number[] = [];
  /** Whether the compute has the project, as far as is known. */
  #hasProject = false;
  #isAnew = true;

  constructor(options: DialectOptions) {
    this.#options = options;
  }

  async begin(): Promise<boolean> {
    this.#isAnew = !(this.#hasProject && (await this.#isKnown()));
    if (this.#isAnew) await this.#makeProject();
    return this.#isAnew;
  }

  /** The project there was made anew. */
  clear(): Promise<void> {
    return Promise.resolve();
  }

  /** An image that the compute lacks is uploaded to it, and the node is made again. */
  async bring(wish: NodeWish): Promise<unknown> {
    const { node_type: type } = wish.stored;
    const pushed = new Set<string>();
    for (;;) {
      try {
        return await this.#make(wish);
      } catch (error) {
        const image = lacksImage(error) ? error.details['image'] : undefined;
        if (typeof image !== 'string' || !isEmulator(type) || pushed.has(image)) throw error;
        if (pushed.size >= MOST_PUSHED || !(await this.#options.pushImage(type, image))) throw error;
        pushed.add(image);
      }
    }
  }

  look(stored: StoredNode): Promise<unknown> {
    return this.#options.ask('GET', nodePath(stored, this.#options.projectId));
  }

  async remove(stored: StoredNode, isMade: boolean): Promise<void> {
    if (isMade) await this.#despite(['compute_refused'], 'DELETE', nodePath(stored, this.#options.projectId));
  }

  async takePort(): Promise<number> {
    const spare = this.#sparePorts.pop();
    if (spare !== undefined) return spare;
    const { ask, projectId } = this.#options;
    return givenPort.parse(await ask('POST', `/projects/${projectId}/ports/udp`)).udp_port;
  }

  keepPort(_at: PortAt, port: number): void {
    this.#sparePorts.push(port);
  }

  /** A second NIO at a port is refused: the first may be one of a request whose answer was lost. */
  async attach(at: PortAt, end: TunnelEnd): Promise<void> {
    const { ask } = this.#options;
    const body = { type: 'nio_udp', ...end };
    try {
      await ask('POST', this.#nioPath(at), body);
    } catch (error) {
      if (!isRefusal(error, 'compute_refused')) throw error;
      await this.detach(at);
      await ask('POST', this.#nioPath(at), body);
    }
  }

  async change(at: PortAt, end: TunnelEnd): Promise<void> {
    await this.#options.ask('PUT', this.#nioPath(at), { type: 'nio_udp', ...end });
  }

  /** A port that is not attached any more is refused. */
  async detach(at: PortAt): Promise<void> {
    await this.#despite(['compute_refused', 'compute_not_connected'], 'DELETE', this.#nioPath(at));
  }

  hasLost(): boolean {
    return this.#isAnew;
  }

  keepLinks(): void {
    // A part begins by closing the project there, so that nothing is left of links that have gone.
  }

  async end(how: RunEnd): Promise<void> {
    if (!this.#hasProject) return;
    const path = `/projects/${this.#options.projectId}`;
    if (how === 'removed') await this.#options.ask('DELETE', path);
    else await this.#options.ask('POST', `${path}/close`);
  }

  async #isKnown(): Promise<boolean> {
    const found = projectList.safeParse(await this.#options.ask('GET', '/projects')).data ?? [];
    return found.some(({ project_id: id }) => id === this.#options.projectId);
  }

  #make({ stored, made, console, inputs }: NodeWish): Promise<unknown> {
    const { ask, projectId } = this.#options;
    const body = nodeBody(stored, console);
    if (made !== undefined) return ask('PUT', nodePath(stored, projectId), body, DEADLINE_MS.node);
    const whole = { ...body, ...inputs, node_id: stored.node_id };
    return ask('POST', nodePath(stored, projectId, 'all'), whole, DEADLINE_MS.node);
  }

  /** Begins from nothing: what an earlier life of this server has left there ends, and its ports are free again. */
  async #makeProject(): Promise<void> {
    const { ask, name, projectId } = this.#options;
    this.#sparePorts.length = 0;
    await this.#despite(['compute_refused'], 'POST', `/projects/${projectId}/close`, DEADLINE_MS.node);
    await ask('POST', '/projects', { name: name(), project_id: projectId });
    this.#hasProject = true;
  }

  async #despite(
    codes: readonly string[],
    method: 'POST' | 'DELETE',
    path: string,
    deadline?: number,
  ): Promise<void> {
    await this.#options.ask(method, path, undefined, deadline).catch((error: unknown) => {
      if (!isRefusal(error, ...codes)) throw error;
    });
  }

  #nioPath({ node, place }: PortAt): string {
    const { adapter_number: adapter, port_number: port } = place;
    return `${nodePath(node, this.#options.projectId)}/adapters/${adapter}/ports/${port}/nio`;
  }
}

function lacksImage(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === 'compute_lacks_image';
}
