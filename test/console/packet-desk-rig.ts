/** A packet desk without a browser: its stream comes from the test, and what it does later happens when the test says so. */
import { PacketDesk, type OctetSource } from '../../src/console/packets/packet-desk.js';
import type { PacketOrder, PacketReport, PacketState } from '../../src/console/packets/packet-messages.js';
import type { StoreSizes } from '../../src/console/packets/packet-store.js';

type Answer<Kind> = Extract<PacketReport, { readonly is: Kind }>;
type Question = PacketOrder extends infer One
  ? One extends { readonly id: number }
    ? Omit<One, 'id'>
    : never
  : never;

const MOST_TURNS = 100_000;

export class PacketDeskRig {
  readonly desk: PacketDesk;
  readonly reports: PacketReport[] = [];
  readonly opened: string[] = [];
  /** How often the desk has closed a source. */
  closed = 0;
  #listener: Parameters<ConstructorParameters<typeof PacketDesk>[0]['open']>[1] | undefined;
  /** The pauses of a second and more that the desk has made. */
  readonly rests: number[] = [];
  #later: (() => void)[] = [];
  #clock = 0;
  #id = 0;

  constructor(sizes: StoreSizes) {
    this.desk = new PacketDesk({
      sizes,
      report: (report) => this.reports.push(report),
      open: (url, listener): OctetSource => {
        this.opened.push(url);
        this.#listener = listener;
        return {
          close: () => {
            this.closed++;
          },
        };
      },
      // Each look at the clock takes a millisecond, so that long work takes several turns.
      now: () => this.#clock++,
      later: (callback, ms) => {
        if (ms >= 1000) this.rests.push(ms);
        this.#later.push(callback);
      },
    });
  }

  open(links: readonly { readonly id: string; readonly name: string }[] = []): void {
    this.desk.take({ do: 'open', url: 'ws://server/pcap', links });
    this.#listener?.onOpen();
  }

  receive(octets: Uint8Array): void {
    this.#listener?.onOctets(octets);
  }

  /** The source closes by itself. */
  breakOff(): void {
    this.#listener?.onClose();
  }

  /** Lets everything happen that waits, and tells the last state. */
  settle(): PacketState {
    for (let turn = 0; this.#later.length > 0; turn++) {
      if (turn > MOST_TURNS) throw new Error('the desk never rests');
      this.#later.shift()?.();
    }
    const state = this.reports.filter((report) => report.is === 'state').at(-1);
    if (state === undefined) throw new Error('no state was told');
    return state;
  }

  ask<Kind extends 'rows' | 'details' | 'saved'>(kind: Kind, question: Question): Answer<Kind> {
    const id = ++this.#id;
    this.desk.take({ ...question, id });
    const answer = this.reports.at(-1);
    if (answer?.is !== kind || answer.id !== id) throw new Error(`no answer to ${question.do}`);
    return answer as Answer<Kind>;
  }

  filter(text: string): Answer<'filter'> {
    this.desk.take({ do: 'filter', text });
    const answer = this.reports.filter((report) => report.is === 'filter').at(-1);
    if (answer?.text !== text) throw new Error('the filter was not answered');
    return answer;
  }
}
