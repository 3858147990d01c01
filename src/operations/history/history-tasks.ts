/**
 * The files of the history, for a file thread. Each project has two at most, and the server too: the younger one grows, and
 * takes the place of the older one when it is long enough. A line is an event. Nothing is synced: a power cut may take the
 * last seconds, the death of the server takes none that is in the file.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../base/errors/errors.js';
import { publishBytes, writeWhole } from '../../base/disk/published-file.js';
import type { TaskTable } from '../../base/threads/task.js';
import { rememberedEvent, type EventChoice, type RememberedEvent } from './remembered-event.js';

/** So long an event is kept. */
const KEPT_DAYS = 30;
const DAY_MS = 86_400_000;
/** A file that has reached this length becomes the older one. */
const LONGEST_FILE = 256 * 1024;
/** All files together. */
const LARGEST_FOLDER = 64 * 1024 * 1024;
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const NEWLINE = 0x0a;

/** The history of one project, or of the server: files with this name. */
interface HistoryPlace {
  readonly folder: string;
  readonly name: string;
}

export interface HistoryTasks extends TaskTable {
  /** Adds events, as whole lines, to the files of these names. */
  readonly appendHistory: (input: { folder: string; lines: ReadonlyMap<string, string> }) => void;
  /** The events as a JSON array, newest first. A damaged file is set aside, and what can be read of it stays. */
  readonly readHistory: (input: HistoryPlace & { choice: EventChoice; now: number }) => {
    readonly text: string;
    readonly setAside: readonly string[];
  };
  readonly removeHistory: (input: HistoryPlace) => void;
  /** Removes files that are too old, and the oldest of those that are too much. */
  readonly sweepHistory: (input: { folder: string; now: number }) => void;
}

export const historyTasks: HistoryTasks = {
  appendHistory({ folder, lines }) {
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of lines) append({ folder, name }, Buffer.from(text));
  },

  readHistory({ choice, now, ...place }) {
    const setAside: string[] = [];
    const found = filesOf(place).flatMap((path) => {
      const { events, isDamaged } = eventsIn(path);
      if (isDamaged) setAside.push(mend(path, events, now));
      return events;
    });
    const oldest = Math.max(choice.since, now - KEPT_DAYS * DAY_MS);
    const chosen = found.reverse().filter(({ kind, time }) => {
      const at = Date.parse(time);
      return at >= oldest && at <= choice.until && (choice.kinds?.includes(kind) ?? true);
    });
    return { text: JSON.stringify(chosen.slice(0, choice.limit)), setAside };
  },

  removeHistory({ folder, name }) {
    const own = namesIn(folder).filter((file) => file.startsWith(`${name}.`));
    for (const file of own) rmSync(join(folder, file), { force: true });
  },

  sweepHistory({ folder, now }) {
    const files = namesIn(folder).flatMap((name) => fileAt(join(folder, name)));
    files.sort((a, b) => b.changedAt - a.changedAt);
    let sum = 0;
    for (const { path, size, changedAt } of files) {
      sum += size;
      if (now - changedAt > KEPT_DAYS * DAY_MS || sum > LARGEST_FOLDER) rmSync(path, { force: true });
    }
  },
};

/** The older file and the younger one. */
function filesOf({ folder, name }: HistoryPlace): readonly [older: string, younger: string] {
  return [join(folder, `${name}.before.jsonl`), join(folder, `${name}.jsonl`)];
}

function append(place: HistoryPlace, bytes: Uint8Array): void {
  const [older, younger] = filesOf(place);
  const fd = openSync(younger, APPEND, 0o600);
  let end: number;
  try {
    end = endOfLines(fd);
    writeWhole(fd, bytes, end);
  } finally {
    closeSync(fd);
  }
  if (end + bytes.length >= LONGEST_FILE) renameSync(younger, older);
}

/** The end of the last whole line. What follows, a death or a full disk has left half written: it is cut off. */
function endOfLines(fd: number): number {
  const { size } = fstatSync(fd);
  const last = new Uint8Array(1);
  if (size === 0 || (readSync(fd, last, 0, 1, size - 1) === 1 && last[0] === NEWLINE)) return size;
  const end = readFileSync(fd).lastIndexOf(NEWLINE) + 1;
  ftruncateSync(fd, end);
  return end;
}

/** The last line may be half written. Any other line that is no event is damage. */
function eventsIn(path: string): { readonly events: RememberedEvent[]; readonly isDamaged: boolean } {
  const lines = unlessMissing(() => readFileSync(path, 'utf8'))?.split('\n') ?? [''];
  const parsed = lines.slice(0, -1).map(eventOf);
  const events = parsed.filter((event) => event !== undefined);
  return { events, isDamaged: events.length < parsed.length };
}

function eventOf(line: string): RememberedEvent | undefined {
  try {
    return rememberedEvent.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** Returns the path of the damaged file. */
function mend(path: string, events: readonly RememberedEvent[], now: number): string {
  const aside = `${path}.damaged-${now}`;
  renameSync(path, aside);
  const text = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  publishBytes(join(path, '..'), path, Buffer.from(text));
  return aside;
}

function namesIn(folder: string): readonly string[] {
  return unlessMissing(() => readdirSync(folder)) ?? [];
}

function fileAt(path: string): { path: string; size: number; changedAt: number }[] {
  const found = unlessMissing(() => statSync(path));
  return found === undefined ? [] : [{ path, size: found.size, changedAt: found.mtimeMs }];
}

function unlessMissing<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
