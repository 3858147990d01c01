/** The node names of a project: unique, and numbered with the lowest free number. */
import { refusals } from '../../base/errors/errors.js';

/** `{0}` and `{id}` stand for the number, `{name}` for the word Node; doubled braces for a brace. */
const PLACEHOLDER = /\{\{|\}\}|\{([^{}]*)\}/g;
const HINT_LIMIT = 1000;

export class NodeNames {
  readonly #taken = new Set<string>();
  /** For each pattern, a number below which none is free. */
  readonly #firstFree = new Map<string, number>();

  /** Takes the wanted name, or the next free one that is made of it. */
  take(wanted: string): string {
    let base = wanted.replaceAll(' ', '');
    if (this.#taken.has(base)) base = base.replace(/(?<!\d)\d+$/, '{0}');
    if (base.includes('{0}') || base.includes('{id}')) return this.#takeNumbered(base, base);
    if (!this.#taken.has(base)) {
      this.#taken.add(base);
      return base;
    }
    return this.#takeNumbered(`${escaped(base)}{0}`, base);
  }

  /** Takes a name that was stored, unchanged if it is free. */
  takeBack(stored: string): string {
    if (this.#taken.has(stored)) return this.take(stored);
    this.#taken.add(stored);
    return stored;
  }

  /** Takes a name that was stored, even if another node has it. */
  keep(name: string): void {
    this.#taken.add(name);
  }

  release(name: string): void {
    this.#taken.delete(name);
    this.#firstFree.clear();
  }

  #takeNumbered(pattern: string, shown: string): string {
    let number = this.#firstFree.get(pattern) ?? 1;
    let name = numbered(pattern, number, shown);
    while (this.#taken.has(name)) name = numbered(pattern, ++number, shown);
    if (this.#firstFree.size >= HINT_LIMIT) this.#firstFree.clear();
    this.#firstFree.set(pattern, number + 1);
    this.#taken.add(name);
    return name;
  }
}

const escaped = (name: string): string => name.replaceAll('{', '{{').replaceAll('}', '}}');

function numbered(pattern: string, number: number, shown: string): string {
  const name = pattern.replace(PLACEHOLDER, (found, placeholder: string | undefined) => {
    if (placeholder === undefined) return found.slice(1);
    if (placeholder === '0' || placeholder === 'id') return String(number);
    if (placeholder === 'name') return 'Node';
    throw refusals.nodeNamePlaceholder(`{${placeholder}}`);
  });
  if (!name.includes(String(number))) throw refusals.nodeNamePlaceholder(shown);
  return name;
}
