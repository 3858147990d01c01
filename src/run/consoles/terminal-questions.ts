/**
 * Escape sequences that make a terminal answer: reports of its state, its kind and its colours. The answer is typed
 * into the node. A node that asks gets it while it waits for it, but what was printed long ago must not ask again.
 */
const ENQUIRY = 0x05;
const BELL = 0x07;
const ESCAPE = 0x1b;
const CONTROL = 0x5b; // [
const IDENTIFY = 0x5a; // Z
const SYSTEM_STRING = 0x5d; // ]
const DEVICE_STRING = 0x50; // P
const STRING_END = 0x5c; // \

/** A part of the bytes that is looked at as one. */
interface Sequence {
  readonly end: number;
  readonly isQuestion: boolean;
}

/** The bytes without questions to the terminal; the same bytes when they have none. */
export function withoutQuestions(bytes: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = [];
  let start = 0;
  let at = 0;
  while (at < bytes.length) {
    const { end, isQuestion } = sequenceAt(bytes, at);
    if (isQuestion) {
      kept.push(bytes.subarray(start, at));
      start = end;
    }
    at = end;
  }
  return start === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(start)]);
}

function sequenceAt(bytes: Uint8Array, at: number): Sequence {
  if (bytes[at] !== ESCAPE) return { end: at + 1, isQuestion: bytes[at] === ENQUIRY };
  switch (bytes[at + 1] ?? 0) {
    case CONTROL:
      return controlAt(bytes, at + 2);
    case SYSTEM_STRING:
      return stringAt(bytes, at + 2, (text) => text.endsWith(';?'));
    case DEVICE_STRING:
      return stringAt(bytes, at + 2, (text) => text.startsWith('$q') || text.startsWith('+q'));
    case IDENTIFY:
      return { end: at + 2, isQuestion: true };
    default:
      return { end: at + 1, isQuestion: false };
  }
}

/** A control sequence: parameters (0x30 to 0x3f), intermediate bytes (0x20 to 0x2f) and the final one. */
function controlAt(bytes: Uint8Array, start: number): Sequence {
  const afterParameters = skip(bytes, start, 0x30, 0x3f);
  const last = skip(bytes, afterParameters, 0x20, 0x2f);
  const final = bytes[last] ?? 0;
  // It was broken off.
  if (final < 0x40 || final > 0x7e) return { end: last, isQuestion: false };
  const parameters = textOf(bytes, start, afterParameters);
  const intermediate = textOf(bytes, afterParameters, last);
  return { end: last + 1, isQuestion: asks(parameters, intermediate, String.fromCharCode(final)) };
}

function skip(bytes: Uint8Array, start: number, least: number, most: number): number {
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte >= least && byte <= most; byte = bytes[at]) at++;
  return at;
}

function asks(parameters: string, intermediate: string, final: string): boolean {
  switch (final) {
    case 'c': // the kind of the terminal
    case 'n': // its state, and where the cursor is
    case 'x': // its line
      return intermediate === '';
    case 'p': // a mode
      return intermediate === '$';
    case 'q': // its version
      return parameters.startsWith('>');
    case 't': // its window; others than these change it
      return Number.parseInt(parameters, 10) >= 11 && Number.parseInt(parameters, 10) <= 21;
    case 'u': // its keyboard
      return parameters.startsWith('?');
    default:
      return false;
  }
}

/** A string that BEL or ESC \ ends. Any other escape breaks it off. */
function stringAt(bytes: Uint8Array, start: number, isQuestion: (text: string) => boolean): Sequence {
  let at = start;
  while (at < bytes.length && bytes[at] !== BELL && bytes[at] !== ESCAPE) at++;
  if (bytes[at] === BELL) return { end: at + 1, isQuestion: isQuestion(textOf(bytes, start, at)) };
  if (bytes[at + 1] !== STRING_END) return { end: at, isQuestion: false };
  return { end: at + 2, isQuestion: isQuestion(textOf(bytes, start, at)) };
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}
