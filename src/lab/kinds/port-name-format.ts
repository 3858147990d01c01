/**
 * Formats of port names, as GNS3 has them: `Ethernet{segment0}/{port0}`. A field in braces stands for a number; it may
 * have a width, as in `{0:02d}`. `{{` and `}}` stand for braces. The messages are those of Python, which GNS3 formats with.
 */
const LONGEST_FORMAT = 255;
/** The most characters of a port's name. A format whose names could be longer is refused. */
const LONGEST_NAME = 255;
/** The numbers of ports and segments are smaller than 10,000. */
const MOST_DIGITS = 4;
const REPLACEMENTS = 9;

/** The numbers of a port that its name may show. */
export interface NamedPlace {
  /** The number in the segment. */
  readonly port: number;
  readonly segment: number;
  readonly adapter: number;
}

interface Field {
  readonly numberOf: (numbers: NamedPlace) => number;
  readonly width: number;
  readonly fill: string;
}

type Piece = string | Field;

interface PortNameFormat {
  nameOf(numbers: NamedPlace): string;
}

const NAMED = new Map<string, Field['numberOf']>([
  ['adapter', ({ adapter }) => adapter],
  ...Array.from({ length: REPLACEMENTS }, (_, index): [string, Field['numberOf']][] => [
    [`port${index}`, ({ port }) => port + index],
    [`segment${index}`, ({ segment }) => segment + index],
  ]).flat(),
]);
const POSITIONAL: readonly Field['numberOf'][] = [({ port }) => port, ({ segment }) => segment];

/** The name, then perhaps a colon, zeros as filling, a width and the letter of decimal numbers. */
const FIELD = /^([a-z0-9]*)(:(0?)([1-9][0-9]?)?d?)?$/;

/** Returns the format, or says in words why it is none. Takes time in proportion to the length of the text. */
export function parsePortNameFormat(text: string): PortNameFormat | string {
  if (text.length > LONGEST_FORMAT) return `it is longer than ${LONGEST_FORMAT} characters`;
  const pieces: Piece[] = [];
  const fields = new FieldReader();
  for (let at = 0; at < text.length;) {
    const next = braceAt(text, at);
    if (next > at) pieces.push(text.slice(at, next));
    if (next === text.length) break;
    const brace = text[next];
    if (text[next + 1] === brace) {
      pieces.push(brace ?? '');
      at = next + 2;
      continue;
    }
    if (brace === '}') return "Single '}' encountered in format string";
    if (next + 1 === text.length) return "Single '{' encountered in format string";
    const end = text.indexOf('}', next);
    if (end < 0) return "expected '}' before end of string";
    const field = fields.read(text.slice(next + 1, end));
    if (typeof field === 'string') return field;
    pieces.push(field);
    at = end + 1;
  }
  const longest = pieces.reduce((sum, piece) => sum + longestOf(piece), 0);
  if (longest > LONGEST_NAME) return `the names could be longer than ${LONGEST_NAME} characters`;
  return { nameOf: (numbers) => pieces.map((piece) => textOf(piece, numbers)).join('') };
}

/** The next brace at or after this place; the length of the text when there is none. */
function braceAt(text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === '{' || text[at] === '}') return at;
  return text.length;
}

/** Reads the fields of one format in their order: unnamed fields are counted. */
class FieldReader {
  #counted = 0;
  #isNumbered = false;

  /** Returns the field, or says why it is none. */
  read(text: string): Field | string {
    const [, name, , zero = '', width = ''] = FIELD.exec(text) ?? [];
    if (name === undefined) return `the field '{${text}}' cannot be used`;
    const numberOf = this.#numberOf(name);
    if (typeof numberOf === 'string') return numberOf;
    return { numberOf, width: Number(width), fill: zero === '' ? ' ' : '0' };
  }

  #numberOf(name: string): Field['numberOf'] | string {
    if (!/^[0-9]*$/.test(name)) return NAMED.get(name) ?? `'${name}'`;
    if (name === '' && this.#isNumbered) {
      return 'cannot switch from manual field specification to automatic field numbering';
    }
    if (name !== '' && this.#counted > 0) {
      return 'cannot switch from automatic field numbering to manual field specification';
    }
    if (name !== '') this.#isNumbered = true;
    const index = name === '' ? this.#counted++ : Number(name);
    return POSITIONAL[index] ?? `Replacement index ${index} out of range for positional args tuple`;
  }
}

function longestOf(piece: Piece): number {
  return typeof piece === 'string' ? piece.length : Math.max(piece.width, MOST_DIGITS);
}

function textOf(piece: Piece, numbers: NamedPlace): string {
  return typeof piece === 'string'
    ? piece
    : String(piece.numberOf(numbers)).padStart(piece.width, piece.fill);
}
