/** The lines in which two texts differ, with a few lines around them. Bounded in time, memory and length. Pure. */

interface Hunk {
  /** The numbers of its first line in the earlier and in the later text, from 1. */
  readonly before: number;
  readonly after: number;
  /** Each begins with a space, `-` or `+`. */
  readonly lines: readonly string[];
}

export interface LineChanges {
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
  /** Whether not all of it is there, because it is long. */
  readonly isCut: boolean;
}

const AROUND = 3;
/** Texts with more differences than these count as other texts from the first difference to the last. */
const MOST_DIFFERENCES = 1000;
const MOST_LINES = 1000;
const LONGEST_LINE = 1000;

type Edit = readonly [sign: ' ' | '-' | '+', line: string];

export function lineChanges(before: string, after: string): LineChanges {
  const [then, now] = [linesOf(before), linesOf(after)];
  const shorter = Math.min(then.length, now.length);
  let head = 0;
  while (head < shorter && then[head] === now[head]) head++;
  let tail = 0;
  while (tail < shorter - head && then[then.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const middle = editsOf(then.slice(head, then.length - tail), now.slice(head, now.length - tail));
  const same = (lines: readonly string[]): Edit[] => lines.map((line) => [' ', line]);
  const lead = Math.max(0, head - AROUND);
  const edits = [
    ...same(then.slice(lead, head)),
    ...middle,
    ...same(then.slice(then.length - tail, then.length - tail + AROUND)),
  ];
  const count = (sign: string): number => middle.filter(([found]) => found === sign).length;
  return { added: count('+'), removed: count('-'), ...hunksOf(edits, lead) };
}

/** A text that ends with a line feed has no line behind it. */
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The shortest way from one list to the other (Myers), if it is not too long. */
function editsOf(then: readonly string[], now: readonly string[]): Edit[] {
  const reached: Int32Array[] = [];
  let last = new Int32Array([0]);
  for (let steps = 0; steps <= Math.min(MOST_DIFFERENCES, then.length + now.length); steps++) {
    const next = new Int32Array(2 * steps + 1);
    for (let place = 0; place <= 2 * steps; place += 2) {
      const diagonal = place - steps;
      let x = steps === 0 ? 0 : stepFrom(last, steps, place);
      while (x < then.length && x - diagonal < now.length && then[x] === now[x - diagonal]) x++;
      next[place] = x;
      if (x < then.length || x - diagonal < now.length) continue;
      return wayBack([...reached, next], then, now, diagonal);
    }
    reached.push(next);
    last = next;
  }
  return [...then.map((line): Edit => ['-', line]), ...now.map((line): Edit => ['+', line])];
}

/** The farthest place on a diagonal after one step more; `last` has the places of the diagonals beside it. */
function stepFrom(last: Int32Array, steps: number, place: number): number {
  return isDown(last, steps, place) ? (last[place] ?? 0) : (last[place - 2] ?? 0) + 1;
}

/** Whether the step to a diagonal adds a line, which leads from the diagonal above. */
function isDown(last: Int32Array, steps: number, place: number): boolean {
  return place === 0 || (place < 2 * steps && (last[place - 2] ?? 0) < (last[place] ?? 0));
}

function wayBack(
  reached: readonly Int32Array[],
  then: readonly string[],
  now: readonly string[],
  end: number,
): Edit[] {
  const edits: Edit[] = [];
  let [x, diagonal] = [then.length, end];
  for (let steps = reached.length - 1; steps > 0; steps--) {
    const last = reached[steps - 1] ?? new Int32Array(0);
    const place = diagonal + steps;
    const start = stepFrom(last, steps, place);
    while (x > start) edits.push([' ', then[--x] ?? '']);
    if (isDown(last, steps, place)) {
      edits.push(['+', now[x - diagonal - 1] ?? '']);
      diagonal++;
    } else {
      edits.push(['-', then[--x] ?? '']);
      diagonal--;
    }
  }
  while (x > 0) edits.push([' ', then[--x] ?? '']);
  return edits.reverse();
}

/** `lead` lines of both texts stand before the first edit. */
function hunksOf(edits: readonly Edit[], lead: number): { hunks: Hunk[]; isCut: boolean } {
  const hunks: { before: number; after: number; lines: string[] }[] = [];
  let [before, after, shown] = [lead, lead, 0];
  // The indexes of the last edit that changes something, and of the last one that is shown.
  let [changed, lastShown] = [-Infinity, -Infinity];
  let isCut = false;
  for (const [index, [sign, line]] of edits.entries()) {
    if (sign !== ' ') changed = index;
    const isBefore = edits.slice(index, index + AROUND + 1).some(([found]) => found !== ' ');
    if (isBefore || index - changed <= AROUND) {
      if (shown === MOST_LINES) return { hunks, isCut: true };
      if (lastShown !== index - 1) hunks.push({ before: before + 1, after: after + 1, lines: [] });
      isCut ||= line.length > LONGEST_LINE;
      hunks.at(-1)?.lines.push(`${sign}${line.slice(0, LONGEST_LINE)}`);
      lastShown = index;
      shown++;
    }
    if (sign !== '+') before++;
    if (sign !== '-') after++;
  }
  return { hunks, isCut };
}
