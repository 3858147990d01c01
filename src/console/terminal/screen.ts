/** The screen of a terminal: xterm.js, with the keys, the colours and the pasting of the console. */
import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { Terminal } from '@xterm/xterm';
import type { ConsoleOrderShape } from '../../api/shapes/consoles.js';
import { LinePaster } from './line-paster.js';

interface ScreenEvents {
  /** Keys and pasted text also as such, so that others get them; answers to questions of the node have no text. */
  readonly onTyped: (bytes: Uint8Array<ArrayBuffer>, text?: string) => void;
  readonly onResized: () => void;
  /** More than one line is about to be pasted. */
  readonly onPasting: (text: string) => void;
  readonly onLeave: () => void;
  readonly onFind: () => void;
}

const SCROLLBACK_LINES = 10_000;
const ESCAPE = '\u001b';
/** The ends of control sequences that only a terminal sends by itself: reports of its kind, its state and its modes. */
const ANSWER_ENDS = ['c', 'n', 'R', 'y', 't'];

export class Screen {
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #search = new SearchAddon();
  readonly #events: ScreenEvents;
  readonly #lines = new LinePaster((line) => this.#terminal.paste(line));

  constructor(events: ScreenEvents) {
    this.#events = events;
    this.#terminal = new Terminal({
      fontFamily: "ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, monospace",
      scrollback: SCROLLBACK_LINES,
      minimumContrastRatio: 4.5,
      // Its output is text for those who do not see it.
      screenReaderMode: true,
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.loadAddon(this.#search);
    this.#terminal.onData((text) => {
      const bytes = new TextEncoder().encode(text);
      if (isAnswer(text)) events.onTyped(bytes);
      else events.onTyped(bytes, text);
    });
    this.#terminal.onBinary((text) => events.onTyped(Uint8Array.from(text, (one) => one.charCodeAt(0))));
    this.#terminal.onResize(events.onResized);
    this.#terminal.attachCustomKeyEventHandler((event) => this.#isOfNode(event));
  }

  /** Returns the end. */
  open(place: HTMLElement): () => void {
    this.#terminal.open(place);
    this.adopt();
    const fit = new ResizeObserver(() => this.#fit.fit());
    fit.observe(place);
    place.addEventListener('paste', this.#paste, { capture: true });
    place.addEventListener('copy', this.#copied);
    return () => {
      this.#lines.stop();
      fit.disconnect();
      place.removeEventListener('paste', this.#paste, { capture: true });
      place.removeEventListener('copy', this.#copied);
      this.#terminal.dispose();
    };
  }

  /** The name for people who do not see it. */
  name(label: string): void {
    this.#terminal.textarea?.setAttribute('aria-label', label);
  }

  get size(): ConsoleOrderShape {
    return { columns: this.#terminal.cols, rows: this.#terminal.rows };
  }

  /** Takes the colours of the page, which may have changed. */
  adopt(): void {
    const { color, backgroundColor } = getComputedStyle(document.body);
    this.#terminal.options.theme = {
      foreground: color,
      background: backgroundColor,
      cursor: color,
      cursorAccent: backgroundColor,
    };
  }

  set fontSize(pixels: number) {
    this.#terminal.options.fontSize = pixels;
    this.#fit.fit();
  }

  write(bytes: Uint8Array): void {
    this.#lines.heard();
    this.#terminal.write(bytes);
  }

  clear(): void {
    this.#lines.stop();
    this.#terminal.reset();
  }

  focus(): void {
    this.#terminal.focus();
  }

  /** A program that knows of pasting gets all at once. */
  paste(text: string): void {
    if (this.#terminal.modes.bracketedPasteMode) this.#terminal.paste(text);
    else this.#lines.paste(text);
  }

  /** Whether the text was found; it is selected then. */
  find(text: string, way: 'next' | 'previous' | 'typed'): boolean {
    if (text === '') return true;
    return way === 'previous'
      ? this.#search.findPrevious(text)
      : this.#search.findNext(text, { incremental: way === 'typed' });
  }

  /** All lines that are held. */
  get text(): string {
    const { active } = this.#terminal.buffer;
    const lines: string[] = [];
    for (let index = 0; index < active.length; index++) {
      const line = active.getLine(index);
      const text = line?.translateToString(true) ?? '';
      if (line?.isWrapped === true) lines.push(`${lines.pop() ?? ''}${text}`);
      else lines.push(text);
    }
    return `${lines.join('\n').trimEnd()}\n`;
  }

  /** Keys are the node's, but for those that the console needs. */
  #isOfNode(event: KeyboardEvent): boolean {
    const { key, ctrlKey, shiftKey, altKey, metaKey } = event;
    if (altKey || (!ctrlKey && !metaKey)) return !(key === 'Insert' && shiftKey);
    const isFinding = key.toLowerCase() === 'f' && (shiftKey || metaKey);
    if ((ctrlKey && key === 'F6') || isFinding) {
      event.preventDefault();
      if (event.type === 'keydown') (isFinding ? this.#events.onFind : this.#events.onLeave)();
      return false;
    }
    // The browser copies and pastes by these itself.
    if (!shiftKey && (key.toLowerCase() === 'c' || key === 'Insert')) return !this.#terminal.hasSelection();
    return key.toLowerCase() !== 'v';
  }

  readonly #copied = (): void => this.#terminal.clearSelection();

  readonly #paste = (event: ClipboardEvent): void => {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (!/[\r\n]/.test(text.replace(/(?:\r\n|\r|\n)$/, ''))) return;
    event.preventDefault();
    event.stopPropagation();
    this.#events.onPasting(text);
  };
}

/** Answers go to the node that has asked, and to no other. */
function isAnswer(text: string): boolean {
  if (!text.startsWith(ESCAPE) || text.length < 3) return false;
  return text[1] === 'P' || text[1] === ']' || (text[1] === '[' && ANSWER_ENDS.includes(text.at(-1) ?? ''));
}
