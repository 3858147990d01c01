/** A display filter: comparisons, joined by `&&`, `||`, `!` and brackets, compiled to one test of a packet. */
import { comparisonTest, presenceTest, type FilterTest } from './filter-terms.js';
import { filterWords, WrongFilter, type FilterWord } from './filter-words.js';

const DEEPEST = 50;
const COMPARES = new Set(['==', '!=', '<', '>', '<=', '>=', '~']);

/** Undefined for an empty text, which shows all packets. Throws WrongFilter, which says where. */
export function displayFilter(text: string): FilterTest | undefined {
  const words = filterWords(text);
  if (words.length === 1) return undefined;
  const reader = new FilterReader(words);
  const test = reader.either(0);
  const { kind, text: left, at } = reader.word;
  if (kind !== 'end') throw new WrongFilter(at, `'${left}' follows a whole filter: put && or || before it`);
  return test;
}

class FilterReader {
  readonly #words: readonly FilterWord[];
  #at = 0;

  constructor(words: readonly FilterWord[]) {
    this.#words = words;
  }

  get word(): FilterWord {
    return this.#words[this.#at] ?? { kind: 'end', text: '', at: 0 };
  }

  either(depth: number): FilterTest {
    const tests = [this.#both(depth)];
    while (this.#takes('||')) tests.push(this.#both(depth));
    const ordered = quickFirst(tests);
    return joined(ordered, (packet) => ordered.some(({ matches }) => matches(packet)));
  }

  #both(depth: number): FilterTest {
    const tests = [this.#one(depth)];
    while (this.#takes('&&')) tests.push(this.#one(depth));
    const ordered = quickFirst(tests);
    return joined(ordered, (packet) => ordered.every(({ matches }) => matches(packet)));
  }

  #one(depth: number): FilterTest {
    if (depth > DEEPEST) throw new WrongFilter(this.word.at, 'brackets nest too deep here');
    if (this.#takes('!')) {
      const { matches, isSlow } = this.#one(depth + 1);
      return { matches: (packet) => !matches(packet), isSlow };
    }
    if (this.#takes('(')) {
      const test = this.either(depth + 1);
      if (!this.#takes(')')) throw new WrongFilter(this.word.at, "a ')' is missing here");
      return test;
    }
    const name = this.word;
    if (name.kind !== 'name') throw new WrongFilter(name.at, 'a protocol or a field is missing here');
    this.#at++;
    const sign = this.word;
    if (sign.kind !== 'sign' || !COMPARES.has(sign.text)) return presenceTest(name);
    this.#at++;
    const value = this.word;
    if (value.kind !== 'name' && value.kind !== 'text')
      throw new WrongFilter(value.at, `a value to compare with is missing here`);
    this.#at++;
    return comparisonTest(name, sign, value);
  }

  #takes(sign: string): boolean {
    const { kind, text } = this.word;
    if (kind !== 'sign' || text !== sign) return false;
    this.#at++;
    return true;
  }
}

/** Tests that need no description come first: they may spare the others. */
function quickFirst(tests: readonly FilterTest[]): FilterTest[] {
  return [...tests].sort((a, b) => Number(a.isSlow) - Number(b.isSlow));
}

function joined(tests: readonly FilterTest[], matches: FilterTest['matches']): FilterTest {
  const [only] = tests;
  if (tests.length === 1 && only !== undefined) return only;
  return { matches, isSlow: tests.some(({ isSlow }) => isSlow) };
}
