/** Clients of the notifications of projects: a stream that ends is followed by another one. */
import { LINK } from './followed-etcd.js';
import type { Told, ToldStream } from './history.js';
import { AUTHORIZATION } from './farm.js';

interface Event {
  readonly action: string;
  readonly event: Readonly<Record<string, unknown>>;
}

const AGAIN_MS = 200;

export class SoakStreams {
  readonly streams: ToldStream[] = [];
  readonly #abort = new AbortController();

  /** Follows a project, as long as it is there. */
  async follow(url: string, scope: string): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const status = await this.#open(url, scope).catch(() => 0);
      if (status === 404) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  close(): void {
    this.#abort.abort();
  }

  async #open(url: string, scope: string): Promise<number> {
    const response = await fetch(`${url}/v2/projects/${scope}/notifications`, {
      headers: { authorization: AUTHORIZATION },
      signal: this.#abort.signal,
    });
    if (response.status !== 200) return response.status;
    const told: Told[] = [];
    let part = 0;
    let isOpen = false;
    let text = '';
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece as Uint8Array).toString();
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as Event;
        if (!isOpen) this.streams.push({ scope, opened: performance.now(), told });
        isOpen = true;
        if (event.action === 'events.lost' || event.action === 'log.warning') part++;
        const one = toldOf(scope, event, part);
        if (one !== undefined) told.push(one);
      }
    }
    return 200;
  }
}

function toldOf(scope: string, { action, event }: Event, part: number): Told | undefined {
  const [, type, kind] = /^(node|link)\.(created|updated|deleted)$/.exec(action) ?? [];
  if (kind === undefined) return undefined;
  const object = `${type ?? ''}/${scope}/${String(event[`${type ?? ''}_id`])}`;
  if (kind === 'deleted') return { object, kind, part };
  const value = type === 'link' ? LINK : String(event['name']);
  return { object, value, kind: kind as 'created' | 'updated', part };
}
