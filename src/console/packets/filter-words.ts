/** The words of a display filter. */

export interface FilterWord {
  readonly kind: 'name' | 'text' | 'sign' | 'end';
  readonly text: string;
  readonly at: number;
}

/** A filter is wrong at a place of its text. */
export class WrongFilter extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

const LONGEST = 2000;
const SIGNS = ['==', '!=', '<=', '>=', '&&', '||', '<', '>', '~', '!', '(', ')'];
/** Names, numbers, addresses and prefixes. */
const NAME = /[\w.:/-]/;
const WORD_SIGNS: Readonly<Record<string, string>> = { and: '&&', or: '||', not: '!' };

/** The words in order, and an end. Throws WrongFilter. */
export function filterWords(text: string): FilterWord[] {
  if (text.length > LONGEST) throw new WrongFilter(LONGEST, `a filter has up to ${LONGEST} characters`);
  const words: FilterWord[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (/\s/.test(character)) {
      at++;
      continue;
    }
    const word = wordAt(text, at);
    words.push(word);
    at = word.kind === 'text' ? closingOf(text, at) + 1 : at + word.text.length;
  }
  return [...words.map(withSign), { kind: 'end', text: '', at: text.length }];
}

function wordAt(text: string, at: number): FilterWord {
  const sign = SIGNS.find((one) => text.startsWith(one, at));
  if (sign !== undefined) return { kind: 'sign', text: sign, at };
  if (text.charAt(at) === '"') return { kind: 'text', text: text.slice(at + 1, closingOf(text, at)), at };
  let end = at;
  while (end < text.length && NAME.test(text.charAt(end))) end++;
  if (end === at) throw new WrongFilter(at, `'${text.charAt(at)}' means nothing here`);
  return { kind: 'name', text: text.slice(at, end), at };
}

function closingOf(text: string, at: number): number {
  const end = text.indexOf('"', at + 1);
  if (end < 0) throw new WrongFilter(at, 'this quotation mark is not closed');
  return end;
}

function withSign(word: FilterWord): FilterWord {
  const sign = word.kind === 'name' ? WORD_SIGNS[word.text.toLowerCase()] : undefined;
  return sign === undefined ? word : { ...word, kind: 'sign', text: sign };
}
