/** Looks every second at the captures of a project that run on other computes, each of which is asked once for all of them. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import type { FarNode } from '../lab/far-node.js';
import { captureStatus, type CaptureStatus } from './capture-status.js';
import { statusKey, type FarCapture, type StatusesOf } from './far-capture.js';

const LOOKED_EVERY_MS = 1000;

const answer = z.object({
  captures: z.array(z.object({ link_id: z.string(), node_id: z.string(), status: captureStatus })),
});

export class FarCaptureWatch {
  readonly #captures = new Set<FarCapture>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  add(capture: FarCapture): void {
    this.#captures.add(capture);
    this.#timer ??= setInterval(() => void this.#look(), LOOKED_EVERY_MS).unref();
  }

  /** The project is closed. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const capture of this.#captures) capture.forget();
    this.#captures.clear();
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const asked = new Map<string, ReturnType<StatusesOf>>();
    const once: StatusesOf = (node) => {
      const known = asked.get(node.computeId) ?? statusesOf(node);
      asked.set(node.computeId, known);
      return known;
    };
    try {
      // A compute that could not be asked is asked the next time.
      await Promise.allSettled([...this.#captures].map((capture) => capture.look(once)));
    } finally {
      this.#isLooking = false;
    }
    for (const capture of this.#captures)
      if (!capture.isRunning && !capture.isOwed) this.#captures.delete(capture);
    if (this.#captures.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The last captures at the ends of links on a Wirefarm. */
export async function statusesOf(node: FarNode): Promise<ReadonlyMap<string, CaptureStatus>> {
  const found = answer.safeParse(await node.ask('GET', '/wanted/captures'));
  if (!found.success) throw refusals.notACompute(node.computeName);
  return new Map(
    found.data.captures.map(({ link_id: linkId, node_id: nodeId, status }) => [
      statusKey(linkId, nodeId),
      status,
    ]),
  );
}
