/**
 * The connection of a terminal to its node. It is made again whenever it ends, until the node is gone; the server is asked for
 * the node before, because a browser does not tell why a WebSocket is refused.
 */
import { signal } from '@preact/signals';
import type { ConsoleNewsShape, ConsoleOrderShape } from '../../api/shapes/consoles.js';
import type { NodeShape } from '../../api/shapes/nodes.js';
import { RefusedCall, send } from '../api/call.js';
import { ConsoleSocket } from '../api/consoles.js';
import { showNode } from '../api/lab.js';
import { sentenceOf } from '../state/toasts.js';
import { TERMINAL_TEXTS } from './texts.js';

type LinkState =
  | { readonly is: 'connecting' | 'connected' | 'stopped' }
  /** It is tried again soon. */
  | { readonly is: 'lost'; readonly sentence: string }
  /** It is tried again when somebody asks for it. */
  | { readonly is: 'over'; readonly sentence: string };

interface ConsoleLinkOptions {
  readonly onBytes: (bytes: Uint8Array) => void;
  /** A connection begins, with what was printed last. */
  readonly onBegin: () => void;
  /** The size of the window, which the terminal of the node gets. */
  readonly size: () => ConsoleOrderShape;
}

const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 5000;
/** So often a node that does not run is looked at. */
const LOOK_MS = 2000;
const GONE = [401, 403, 404];

export class ConsoleLink {
  readonly state = signal<LinkState>({ is: 'connecting' });
  readonly node = signal<NodeShape | undefined>(undefined);
  /** Undefined before the server has told it. */
  readonly news = signal<ConsoleNewsShape | undefined>(undefined);
  readonly isWatching = signal(false);
  readonly #lab: string;
  readonly #id: string;
  readonly #options: ConsoleLinkOptions;
  #socket: ConsoleSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restMs = FIRST_REST_MS;
  /** Counts the tries: what an older one learns does not count. */
  #try = 0;

  constructor(lab: string, id: string, options: ConsoleLinkOptions) {
    this.#lab = lab;
    this.#id = id;
    this.#options = options;
  }

  /** Connects now, whatever is under way. */
  connect(): void {
    this.close();
    this.state.value = { is: 'connecting' };
    void this.#look();
  }

  close(): void {
    this.#try++;
    clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = undefined;
    this.news.value = undefined;
  }

  watch(isWatching: boolean): void {
    this.isWatching.value = isWatching;
    this.connect();
  }

  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.isWatching.value) this.#socket?.type(bytes);
  }

  resize(): void {
    this.#socket?.resize(this.#options.size());
  }

  async #look(): Promise<void> {
    const number = ++this.#try;
    try {
      const node = await send(showNode(this.#lab, this.#id));
      if (number !== this.#try) return;
      this.node.value = node;
      const { console_type: kind, console_host: host, console: port, status } = node;
      if (kind !== 'telnet')
        this.state.value = {
          is: 'over',
          sentence: TERMINAL_TEXTS.noText(kind ?? 'none', `${host}:${port ?? ''}`),
        };
      else if (status === 'stopped') {
        this.state.value = { is: 'stopped' };
        this.#again(LOOK_MS);
      } else this.#open(number);
    } catch (error) {
      if (number !== this.#try) return;
      const isOver = error instanceof RefusedCall && GONE.includes(error.status);
      this.state.value = { is: isOver ? 'over' : 'lost', sentence: sentenceOf(error) };
      if (!isOver) this.#rest();
    }
  }

  #open(number: number): void {
    let isOpen = false;
    this.#socket = new ConsoleSocket(this.#lab, this.#id, {
      isWatching: this.isWatching.value,
      onOpen: () => {
        isOpen = true;
        this.#restMs = FIRST_REST_MS;
        this.state.value = { is: 'connected' };
        this.#options.onBegin();
        this.resize();
      },
      onBytes: this.#options.onBytes,
      onNews: (news) => {
        this.news.value = news;
        this.state.value = { is: news.running ? 'connected' : 'stopped' };
      },
      onClose: (reason) => {
        if (number !== this.#try) return;
        this.#socket = undefined;
        this.news.value = undefined;
        const sentence = reason === '' ? TERMINAL_TEXTS[isOpen ? 'cut' : 'refused'] : reason;
        this.state.value = { is: 'lost', sentence };
        this.#rest();
      },
    });
  }

  #rest(): void {
    this.#again(this.#restMs);
    this.#restMs = Math.min(2 * this.#restMs, LONGEST_REST_MS);
  }

  #again(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms);
  }
}
