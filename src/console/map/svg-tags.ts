/**
 * Takes the text of a picture apart into tags and texts, in one pass and without making a document of it: nothing of a
 * stranger's picture runs, is loaded or refers to anything. Whatever it does not understand, it leaves out.
 */

export interface SvgTag {
  readonly name: string;
  readonly kind: 'start' | 'end' | 'empty';
  readonly attributes: ReadonlyMap<string, string>;
}

const MOST_ATTRIBUTES = 64;
const BLANK = /\s/;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Tags as objects, and texts between them as strings. */
export function* svgTags(svg: string): Generator<SvgTag | string> {
  let at = 0;
  while (at < svg.length) {
    const start = svg.indexOf('<', at);
    if (start !== at) yield plainText(svg.slice(at, start === -1 ? svg.length : start));
    if (start === -1) return;
    const skipped = endOfOther(svg, start);
    if (skipped === undefined) {
      const tag = new TagReader(svg, start + 1);
      yield tag.read();
      ({ at } = tag);
    } else {
      at = skipped;
    }
  }
}

/** The end of a comment, a declaration or an instruction; undefined for a tag. */
function endOfOther(svg: string, start: number): number | undefined {
  if (svg.startsWith('<!--', start)) return after(svg, '-->', start + 4);
  return svg[start + 1] === '!' || svg[start + 1] === '?' ? after(svg, '>', start) : undefined;
}

function after(svg: string, mark: string, from: number): number {
  const found = svg.indexOf(mark, from);
  return found === -1 ? svg.length : found + mark.length;
}

class TagReader {
  readonly #svg: string;
  at: number;

  /** `at` is behind the bracket. */
  constructor(svg: string, at: number) {
    this.#svg = svg;
    this.at = at;
  }

  read(): SvgTag {
    const isEnd = this.#takes('/');
    const name = localName(this.#word('>/'));
    const attributes = new Map<string, string>();
    while (this.at < this.#svg.length) {
      this.#skipBlanks();
      if (this.#takes('/')) {
        if (this.#takes('>')) return { name, kind: isEnd ? 'end' : 'empty', attributes };
        continue;
      }
      if (this.#takes('>')) break;
      const key = localName(this.#word('=>/'));
      this.#skipBlanks();
      if (!this.#takes('=')) {
        // A word without a value, or a sign that belongs nowhere.
        if (key === '') this.at++;
        continue;
      }
      const value = this.#value();
      if (attributes.size < MOST_ATTRIBUTES && !attributes.has(key)) attributes.set(key, value);
    }
    return { name, kind: isEnd ? 'end' : 'start', attributes };
  }

  #takes(sign: string): boolean {
    if (this.#svg[this.at] !== sign) return false;
    this.at++;
    return true;
  }

  #skipBlanks(): void {
    while (BLANK.test(this.#svg[this.at] ?? '')) this.at++;
  }

  /** Reads up to a blank or one of these signs. */
  #word(ends: string): string {
    const start = this.at;
    for (let sign = this.#svg[this.at]; sign !== undefined; sign = this.#svg[++this.at])
      if (ends.includes(sign) || BLANK.test(sign)) break;
    return this.#svg.slice(start, this.at);
  }

  #value(): string {
    this.#skipBlanks();
    const quote = this.#svg[this.at] ?? '';
    if (quote !== '"' && quote !== "'") return this.#word('>');
    const end = this.#svg.indexOf(quote, this.at + 1);
    const value = this.#svg.slice(this.at + 1, end === -1 ? this.#svg.length : end);
    this.at = end === -1 ? this.#svg.length : end + 1;
    return plainText(value);
  }
}

/** A name without the prefix of its namespace. */
function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Resolves the five entities that need no declaration, and numbers. */
function plainText(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
    if (typeof name === 'string') return ENTITIES[name] ?? whole;
    const code = typeof decimal === 'string' ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}
