/** Holds the lines of the audit against each other, and against what the log was told. */
import { z } from 'zod';
import { digestOfLine, type AuditTip } from '../lab/audit/audit-entry.js';

const auditLine = z.looseObject({ sequence: z.int().min(1), time: z.string(), before: z.string() });
const told = z.looseObject({ audit: z.object({ sequence: z.int().min(0), digest: z.string() }) });

/** The tip of the audit that a line of the server's log tells; undefined for any other line. */
export function toldTip(logLine: string): AuditTip | undefined {
  if (!logLine.includes('"audit":{')) return undefined;
  return told.safeParse(parsed(logLine.slice(logLine.indexOf('{')))).data?.audit;
}

export class AuditChain {
  readonly #told: ReadonlyMap<number, string>;
  readonly #unseen: Set<number>;
  #first: AuditTip | undefined;
  #last: AuditTip | undefined;
  #lastPlace = '';
  #count = 0;

  constructor(tips: readonly AuditTip[]) {
    this.#told = new Map(tips.map(({ sequence, digest }) => [sequence, digest]));
    this.#unseen = new Set(this.#told.keys());
  }

  /** How many lines there were. */
  get count(): number {
    return this.#count;
  }

  /** The numbers of the first and the last line. */
  get range(): string {
    return this.#first === undefined ? 'none' : `${this.#first.sequence} to ${this.#last?.sequence ?? 0}`;
  }

  /** Looks at the next line; returns its faults. */
  next(line: string, place: string): string[] {
    this.#count++;
    const read = auditLine.safeParse(parsed(line)).data;
    const digest = digestOfLine(line);
    const last = this.#last;
    // A line that cannot be read stands for the next number, so that the lines after it are judged by themselves.
    const sequence = read?.sequence ?? (last?.sequence ?? 0) + 1;
    const faults = read === undefined ? [`${place}: this is no line of the audit`] : [];
    if (read !== undefined && last !== undefined) faults.push(...this.#compared(read, last, place));
    const wanted = this.#told.get(sequence);
    this.#unseen.delete(sequence);
    if (wanted !== undefined && wanted !== digest)
      faults.push(`${place}: line ${sequence} is not the one that the log was told`);
    this.#first ??= { sequence, digest };
    this.#last = { sequence, digest };
    this.#lastPlace = place;
    return faults;
  }

  /** The faults that show at the end. */
  end(): string[] {
    const { sequence: last = 0 } = this.#last ?? {};
    const most = Math.max(0, ...this.#unseen);
    return most > last ? [`after line ${last}: the log was told line ${most}, so the end is cut off`] : [];
  }

  #compared({ sequence, before }: z.output<typeof auditLine>, last: AuditTip, place: string): string[] {
    if (sequence <= last.sequence)
      return [`${place}: line ${sequence} comes after line ${last.sequence}: lines were moved or added`];
    if (sequence > last.sequence + 1)
      return [`${place}: lines ${last.sequence + 1} to ${sequence - 1} were removed`];
    return before === last.digest ? [] : [`${this.#lastPlace}: line ${last.sequence} was changed`];
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
