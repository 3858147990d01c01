/** The packet worker of a page, as signals and answers. */
import { signal } from '@preact/signals';
import type { LinkName, PacketOrder, PacketReport, PacketState } from '../packets/packet-messages.js';

type Answer<Kind> = Extract<PacketReport, { readonly is: Kind }>;
type FilterAnswer = Answer<'filter'>;

/** The place of the script, which the build writes into the document. */
function workerPlace(): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="packet-worker"]');
  return new URL(meta?.content ?? '', document.baseURI).href;
}

export class PacketClient {
  readonly state = signal<PacketState | undefined>(undefined);
  readonly filter = signal<FilterAnswer | undefined>(undefined);
  readonly #worker = new Worker(workerPlace(), { type: 'module' });
  readonly #waiting = new Map<number, (report: PacketReport) => void>();
  #id = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<PacketReport>): void => {
      if (data.is === 'state') this.state.value = data;
      else if (data.is === 'filter') this.filter.value = data;
      else {
        this.#waiting.get(data.id)?.(data);
        this.#waiting.delete(data.id);
      }
    };
  }

  open(url: string, links: readonly LinkName[]): void {
    this.#send({ do: 'open', url, links });
  }

  close(): void {
    this.#send({ do: 'close' });
  }

  show(text: string): void {
    this.#send({ do: 'filter', text });
  }

  /** Chooses the rows of the state: from a place on, or the last ones. */
  look(from: number | undefined, count: number): void {
    this.#send({ do: 'look', from, count });
  }

  rows(from: number, count: number): Promise<Answer<'rows'>> {
    return this.#ask<'rows'>((id) => ({ do: 'rows', id, from, count }));
  }

  details(number: number): Promise<Answer<'details'>> {
    return this.#ask<'details'>((id) => ({ do: 'details', id, number }));
  }

  save(isFiltered: boolean): Promise<Answer<'saved'>> {
    return this.#ask<'saved'>((id) => ({ do: 'save', id, isFiltered }));
  }

  end(): void {
    this.#worker.terminate();
  }

  #send(order: PacketOrder): void {
    this.#worker.postMessage(order);
  }

  /** The worker answers each question with the kind of report that it asks for. */
  #ask<Kind extends 'rows' | 'details' | 'saved'>(
    question: (id: number) => PacketOrder,
  ): Promise<Answer<Kind>> {
    const id = ++this.#id;
    const answer = new Promise<PacketReport>((resolve) => this.#waiting.set(id, resolve));
    this.#send(question(id));
    return answer as Promise<Answer<Kind>>;
  }
}
