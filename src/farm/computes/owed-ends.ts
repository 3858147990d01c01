/**
 * The ends of projects at the Wirefarms that ran a part of them: each is told at once or, when it cannot be, as soon as it is
 * connected, unless another life of the project has spoken there meanwhile. What is owed is forgotten with the server.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { isRefusal, Refusal } from '../../base/errors/errors.js';
import type { RunEnd } from '../../lab/lab-run.js';
import type { ComputeCall } from '../../lab/other-computes.js';

const MOST_OF_A_COMPUTE = 10_000;
const shown = z.object({ epoch: z.int() });

interface OwedEnd {
  /** The epoch of the life that has ended. */
  readonly epoch: number;
  readonly how: RunEnd;
}

type Ask = (computeId: string, call: ComputeCall) => Promise<unknown>;

export class OwedEnds {
  readonly #ask: Ask;
  readonly #log: Logger;
  /** By compute and project. */
  readonly #owed = new Map<string, Map<string, OwedEnd>>();

  constructor(ask: Ask, log: Logger) {
    this.#ask = ask;
    this.#log = log;
  }

  /** Ends a project there, now or when the compute is connected. Resolves when it has been tried. */
  async end(computeId: string, projectId: string, end: OwedEnd): Promise<void> {
    const owed = this.#owed.get(computeId) ?? new Map<string, OwedEnd>();
    this.#owed.set(computeId, owed.set(projectId, end));
    const [oldest] = owed.keys();
    if (owed.size > MOST_OF_A_COMPUTE && oldest !== undefined) owed.delete(oldest);
    await this.#try(computeId, projectId, end);
  }

  forget(computeId: string): void {
    this.#owed.delete(computeId);
  }

  /** Tells a compute that is connected of all that it is owed. */
  async connected(computeId: string): Promise<void> {
    for (const [projectId, end] of [...(this.#owed.get(computeId) ?? [])])
      if (!(await this.#try(computeId, projectId, end))) return;
  }

  /** Resolves with whether there is a connection. What the compute does not do is owed still. */
  async #try(computeId: string, projectId: string, end: OwedEnd): Promise<boolean> {
    try {
      await this.#tell(computeId, projectId, end);
      const owed = this.#owed.get(computeId);
      if (owed?.get(projectId) === end) owed.delete(projectId);
      return true;
    } catch (error) {
      this.#log.info(
        { err: error, compute: computeId, project: projectId },
        'a project does not end there yet',
      );
      return !isRefusal(error, 'compute_not_connected');
    }
  }

  async #tell(computeId: string, projectId: string, { epoch, how }: OwedEnd): Promise<void> {
    const path = `/projects/${projectId}`;
    const there = await this.#ask(computeId, { method: 'GET', path: `${path}/wanted` }).catch(noneThere);
    if (shown.safeParse(there).data?.epoch !== epoch) return;
    if (how === 'removed') await this.#ask(computeId, { method: 'DELETE', path });
    else await this.#ask(computeId, { method: 'POST', path: `${path}/close` });
  }
}

/** The compute does not know the project: nothing is left of it. */
function noneThere(error: unknown): undefined {
  if (error instanceof Refusal && error.code === 'compute_refused' && error.status === 404) return undefined;
  throw error;
}
