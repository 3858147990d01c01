/**
 * One stream of notifications: of the controller, or of one project. Listeners are called in slices of a few
 * milliseconds for all channels together; the thread does everything else between the slices.
 */
import { randomInt } from 'node:crypto';
import { RecentEvents } from './recent-events.js';

/**
 * Receives one event: a JSON object on a single line, without the line's end. `projectId` is the project that it is about,
 * `sequence` its number among the events of the channel.
 */
export type Listener = (event: string, projectId: string | undefined, sequence: number) => void;

/** All channels together may take so much of one turn of the event loop. */
const SLICE_MS = 3;
/** In characters: when more waits in one channel, its oldest events are delivered at once, however long that takes. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Events are kept so long after nobody has any use for them. */
const KEPT_AFTER_MS = 300_000;

interface Telling {
  readonly line: string;
  readonly projectId: string | undefined;
  readonly sequence: number;
  /** The listeners at the time of the event. */
  readonly listeners: readonly Listener[];
  told: number;
}

/** Channels with events that wait. */
const behind = new Set<Channel>();
let spentMs = 0;
let isTurnKnown = false;

/** Lets the channel deliver events in the rest of this turn's slice, and then in later turns. */
function tellSome(channel: Channel): void {
  if (!isTurnKnown) {
    isTurnKnown = true;
    setImmediate(beginTurn);
  }
  const start = performance.now();
  if (spentMs >= SLICE_MS || !channel.tellUntil(start + SLICE_MS - spentMs)) behind.add(channel);
  spentMs += performance.now() - start;
}

function beginTurn(): void {
  isTurnKnown = false;
  spentMs = 0;
  for (const channel of [...behind]) {
    behind.delete(channel);
    tellSome(channel);
  }
}

export class Channel {
  readonly #namesProjects: boolean;
  readonly #listeners = new Set<Listener>();
  readonly #waiting: Telling[] = [];
  #waitingLength = 0;
  /** The number of the last event. Numbers begin anywhere, so that those of an earlier server are not taken for own ones. */
  #sequence = randomInt(1, 2 ** 32) * 2 ** 20;
  #recent: RecentEvents | undefined;
  #keepers = 0;
  #forgetting: NodeJS.Timeout | undefined;

  /** Only the stream of a compute names the project in each event. */
  constructor({ namesProjects = false } = {}) {
    this.#namesProjects = namesProjects;
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** `event` is the JSON text of the object of the action. */
  emit(action: string, event: string, projectId?: string): void {
    const sequence = ++this.#sequence;
    if (this.#listeners.size === 0 && this.#recent === undefined) return;
    const line = envelope(action, event, this.#namesProjects ? projectId : undefined);
    this.#recent?.add(line);
    if (this.#listeners.size === 0) return;
    this.#waiting.push({ line, projectId, sequence, listeners: [...this.#listeners], told: 0 });
    this.#waitingLength += line.length;
    while (this.#waitingLength > MOST_WAITING) this.#tellFirst(Infinity);
    if (!behind.has(this)) tellSome(this);
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Subscribes to the events that are about this project. */
  subscribeTo(projectId: string, listener: Listener): () => void {
    return this.subscribe((line, about, sequence) => {
      if (about === projectId) listener(line, about, sequence);
    });
  }

  /** The number of the last event. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Keeps the latest events for `since`, until some minutes after the release, which is returned. */
  keepEvents(): () => void {
    this.#keepers++;
    this.#recent ??= new RecentEvents(this.#sequence);
    clearTimeout(this.#forgetting);
    return () => {
      if (--this.#keepers > 0) return;
      this.#forgetting = setTimeout(() => {
        this.#recent = undefined;
      }, KEPT_AFTER_MS).unref();
    };
  }

  /** The events after the one of this number; undefined when not all of them are known. */
  since(sequence: number): readonly string[] | undefined {
    return this.#recent?.since(sequence);
  }

  /** Delivers events until this time; returns whether none is left. */
  tellUntil(end: number): boolean {
    while (this.#waiting.length > 0) {
      if (!this.#tellFirst(end)) return false;
    }
    return true;
  }

  /** Delivers the oldest event, to at least one listener. Returns whether all have it. */
  #tellFirst(end: number): boolean {
    const [first] = this.#waiting;
    if (first === undefined) return true;
    for (const listener of first.listeners.slice(first.told)) {
      first.told++;
      this.#tell(listener, first);
      if (first.told < first.listeners.length && performance.now() >= end) return false;
    }
    this.#waiting.shift();
    this.#waitingLength -= first.line.length;
    return true;
  }

  #tell(listener: Listener, { line, projectId, sequence }: Telling): void {
    if (!this.#listeners.has(listener)) return;
    try {
      listener(line, projectId, sequence);
    } catch {
      // Nothing can be sent to its client any more. Changes and other listeners must not suffer from that.
      this.#listeners.delete(listener);
    }
  }
}

export function envelope(action: string, event: string, projectId?: string): string {
  const project = projectId === undefined ? '' : `, "project_id": ${JSON.stringify(projectId)}`;
  return `{"action": "${action}", "event": ${event}${project}}`;
}
