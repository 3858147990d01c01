/** The words of a command line as a POSIX shell splits them, without expansions. */
const BLANK = /\s/;
/** The characters that a backslash takes their meaning from between double quotes. */
const ESCAPED_IN_QUOTES = '"\\$`';

/** Undefined when a quote is not closed, or nothing follows a backslash. */
export function shellWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote: '"' | "'" | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    const next = text.charAt(at + 1);
    if (quote === "'") {
      if (character === "'") quote = undefined;
      else word = (word ?? '') + character;
    } else if (character === '\\' && (quote === undefined || ESCAPED_IN_QUOTES.includes(next))) {
      if (next === '') return undefined;
      word = (word ?? '') + next;
      at++;
    } else if (character === quote) {
      quote = undefined;
    } else if (quote === undefined && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (quote === undefined && BLANK.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== undefined) return undefined;
  return word === undefined ? words : [...words, word];
}
