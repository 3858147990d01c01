/** The work of the packet worker: reads the stream, keeps packets, filters them, and answers the page. */
import { PcapngStream } from '../../dissection/pcapng-stream.js';
import { sectionHeader } from '../../engine/wire/pcapng.js';
import { displayFilter } from './display-filter.js';
import { WrongFilter } from './filter-words.js';
import { MatchList } from './match-list.js';
import type { LinkName, PacketOrder, PacketReport, PacketRow, PacketState } from './packet-messages.js';
import { PacketStore, type StoreSizes } from './packet-store.js';
import { PacketView } from './packet-view.js';

/** A stream of octets, such as a WebSocket. */
export interface OctetSource {
  close(): void;
}

interface SourceListener {
  onOpen(): void;
  onOctets(octets: Uint8Array): void;
  onClose(): void;
}

/** The world as the desk needs it. */
interface DeskWorld {
  readonly sizes: StoreSizes;
  report(report: PacketReport): void;
  open(url: string, listener: SourceListener): OctetSource;
  now(): number;
  /** Calls back later, once. */
  later(callback: () => void, ms: number): void;
}

/** The state is told at most this often, and a filter works so long at a time. */
const REPORT_MS = 33;
const WORK_MS = 8;
/** Between two streams; longer each time, until packets come again. */
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;
const MOST_ROWS = 200;
const NANOSECONDS = 1e9;
const WAYS = ['', 'in', 'out'] as const;

export class PacketDesk {
  readonly #world: DeskWorld;
  #store: PacketStore;
  #view: PacketView;
  #shown: MatchList;
  #links = new Map<string, string>();
  /** The names of interfaces, as the page names their links. */
  #names: string[] = [];
  #filterText = '';
  #looked: { readonly from: number | undefined; readonly count: number } = { from: undefined, count: 0 };
  #source: OctetSource | undefined;
  #stream: PacketState['stream'] = 'closed';
  #lost = 0;
  #restMs = FIRST_REST_MS;
  #isReporting = false;
  #reportedAt = -Infinity;
  #isWorking = false;

  constructor(world: DeskWorld) {
    this.#world = world;
    this.#store = new PacketStore(world.sizes);
    this.#view = this.#newView();
    this.#shown = new MatchList(this.#store, this.#view);
  }

  take(order: PacketOrder): void {
    switch (order.do) {
      case 'open':
        this.#open(order.url, order.links);
        break;
      case 'close':
        this.#close();
        break;
      case 'filter':
        this.#filter(order.text);
        break;
      case 'look':
        this.#looked = { from: order.from, count: Math.min(order.count, MOST_ROWS) };
        this.#report();
        break;
      case 'rows':
        this.#answerRows(order.id, order.from, Math.min(order.count, MOST_ROWS));
        break;
      case 'details':
        this.#answerDetails(order.id, order.number);
        break;
      case 'save':
        this.#save(order.id, order.isFiltered);
        break;
    }
  }

  #open(url: string, links: readonly LinkName[]): void {
    this.#close();
    this.#links = new Map(links.map(({ id, name }) => [id, name]));
    this.#names = [];
    this.#lost = 0;
    // A store that is as new serves again: each takes the room of all packets that may be held.
    if (!this.#store.isNew) this.#store = new PacketStore(this.#world.sizes);
    this.#view = this.#newView();
    this.#shown = new MatchList(this.#store, this.#view);
    this.#shown.use(displayFilter(this.#filterText));
    this.#connect(url);
  }

  #connect(url: string): void {
    this.#stream = 'connecting';
    const store = this.#store;
    const reader = new PcapngStream({
      onInterface: (described, block) => {
        const id = /^link ([\w-]+)/.exec(described.description)?.[1] ?? '';
        this.#names.push(this.#links.get(id) ?? described.name);
        store.addInterface(described, block);
      },
      onPacket: (packet) => {
        if (!store.add(packet)) this.#lost++;
      },
      onLost: (_, count) => (this.#lost += count),
    });
    store.beginSection();
    const source: OctetSource = this.#world.open(url, {
      onOpen: () => {
        if (this.#source === source) this.#become('live');
      },
      onOctets: (octets) => {
        if (this.#source !== source) return;
        this.#restMs = FIRST_REST_MS;
        reader.take(octets);
        if (reader.isBroken) source.close();
        this.#soon();
      },
      onClose: () => {
        if (this.#source !== source) return;
        this.#become('lost');
        this.#world.later(() => {
          if (this.#source === source) this.#connect(url);
        }, this.#restMs);
        this.#restMs = Math.min(2 * this.#restMs, LONGEST_REST_MS);
      },
    });
    this.#source = source;
    this.#soon();
  }

  #close(): void {
    const source = this.#source;
    this.#source = undefined;
    source?.close();
    this.#become('closed');
  }

  #become(stream: PacketState['stream']): void {
    this.#stream = stream;
    this.#soon();
  }

  #filter(text: string): void {
    try {
      this.#shown.use(displayFilter(text));
      this.#filterText = text;
      this.#world.report({ is: 'filter', text, wrong: undefined });
      this.#soon();
    } catch (error) {
      if (!(error instanceof WrongFilter)) throw error;
      this.#world.report({ is: 'filter', text, wrong: { at: error.at, message: error.message } });
    }
  }

  /** Has new packets tested, and the state told. */
  #soon(): void {
    this.#work();
    if (this.#isReporting) return;
    this.#isReporting = true;
    // The first packet after a rest is told at once.
    const sinceLast = this.#world.now() - this.#reportedAt;
    this.#world.later(
      () => {
        this.#isReporting = false;
        this.#report();
      },
      Math.max(0, REPORT_MS - sinceLast),
    );
  }

  #report(): void {
    this.#reportedAt = this.#world.now();
    this.#world.report(this.#state());
  }

  #work(): void {
    if (this.#isWorking) return;
    const until = this.#world.now() + WORK_MS;
    this.#shown.advance(() => this.#world.now() < until);
    if (this.#shown.isComplete) return;
    this.#isWorking = true;
    this.#world.later(() => {
      this.#isWorking = false;
      this.#soon();
    }, 0);
  }

  #state(): PacketState {
    const store = this.#store;
    const [first, end] = this.#shown.range;
    const oldest = store.columns.time[store.columns.rowOf(store.first)] ?? 0;
    return {
      is: 'state',
      stream: this.#stream,
      received: store.next - 1,
      held: store.next - store.first,
      heldOctets: store.heldOctets,
      first,
      end,
      progress: this.#shown.progress,
      lost: this.#lost,
      rows: this.#lookedAt(),
      seconds: store.first === store.next ? 0 : Math.max(0, store.last - oldest) / NANOSECONDS,
    };
  }

  #answerRows(id: number, from: number, count: number): void {
    this.#world.report({ is: 'rows', id, from, rows: this.#rows(from, count) });
  }

  #lookedAt(): PacketRow[] {
    const { from, count } = this.#looked;
    const [first, end] = this.#shown.range;
    const last = Math.max(first, end - count);
    return this.#rows(Math.min(last, Math.max(first, from ?? last)), count);
  }

  #rows(from: number, count: number): PacketRow[] {
    const [first] = this.#shown.range;
    const start = Math.max(first, from);
    return this.#shown.numbers(from, count).map((number, index) => this.#row(start + index, number));
  }

  #row(place: number, number: number): PacketRow {
    const view = this.#view;
    view.lookAt(number);
    const { columns, row } = view;
    const { source, destination, protocol, info } = view.description();
    return {
      place,
      number,
      time: ((columns.time[row] ?? 0) / NANOSECONDS).toFixed(6),
      link: view.link(),
      way: WAYS[columns.direction[row] ?? 0] ?? '',
      source,
      destination,
      protocol,
      length: columns.original[row] ?? 0,
      info,
    };
  }

  #answerDetails(id: number, number: number): void {
    const view = this.#view;
    if (!this.#store.holds(number)) {
      this.#world.report({ is: 'details', id, details: undefined });
      return;
    }
    view.lookAt(number);
    const octets = this.#store.octetsOf(number).slice();
    const original = view.columns.original[view.row] ?? 0;
    const { layers } = view.description();
    this.#world.report({ is: 'details', id, details: { number, layers, octets, original } });
  }

  /** Makes a file of what is held, or of what is shown of it. */
  #save(id: number, isFiltered: boolean): void {
    const store = this.#store;
    const [first, end] = this.#shown.range;
    const numbers = isFiltered
      ? this.#shown.numbers(first, end - first)
      : Array.from({ length: store.next - store.first }, (_, index) => store.first + index);
    const blocks = numbers.map((number) => store.blockOf(number));
    const file = new Uint8Array(blocks.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const block of blocks) {
      file.set(block, at);
      at += block.length;
    }
    const header = sectionHeader({ application: 'Wirefarm' });
    const parts = [header, ...store.interfaces.map(({ block }) => block), file].map((part) => part.slice());
    const type = 'application/x-pcapng';
    this.#world.report({ is: 'saved', id, packets: numbers.length, file: new Blob(parts, { type }) });
  }

  #newView(): PacketView {
    return new PacketView(this.#store, (interfaceId) => this.#names[interfaceId] ?? '');
  }
}
