/**
 * Shows uploads to clients: their rate, and the notifications of their beginning, progress and end. Small plain uploads
 * are not announced.
 */
import type { Channel } from '../../base/streams/channel.js';
import type { UploadSubject } from '../transfer/landing.js';
import type { Transfers } from '../transfer/transfers.js';
import type { Upload } from '../transfer/upload.js';

export type UploadState = 'receiving' | 'waiting' | 'landing' | 'finished';

/** A resumable or a plain upload. Times are in milliseconds since 1970. */
export interface ShownUpload {
  readonly id: string;
  readonly protocol: 'tus' | 'http';
  readonly subject: UploadSubject;
  readonly size: number | undefined;
  readonly received: number;
  readonly state: UploadState;
  readonly startedAt: number;
  readonly expiresAt: number | undefined;
}

/** The fields that clients see, beside those of the subject. */
interface UploadFacts {
  readonly expires_at: string | null;
  readonly protocol: ShownUpload['protocol'];
  /** In bytes per second. */
  readonly rate: number;
  readonly received: number;
  readonly size: number | null;
  readonly started_at: string;
  readonly state: UploadState;
  readonly upload_id: string;
}
export type UploadView = UploadFacts & UploadSubject;

/** Smaller plain uploads are too many and too short to be worth a notification. */
const LEAST_ANNOUNCED = 1024 * 1024;
const TICK_MS = 1000;

export class UploadBoard {
  readonly #announcements: Channel;
  /** The subjects of resumable uploads: a transfer with one of these is only one of its requests. */
  readonly #resumable = new WeakSet<UploadSubject>();
  readonly #plain = new Map<Upload, PlainUpload>();
  readonly #moving = new Map<ShownUpload, Pace>();
  #timer: NodeJS.Timeout | undefined;

  constructor(announcements: Channel, transfers: Pick<Transfers, 'observer'>) {
    this.#announcements = announcements;
    transfers.observer = {
      began: (upload) => {
        this.#began(upload);
      },
      ended: (upload, outcome) => {
        this.#ended(upload, outcome);
      },
    };
  }

  /** Marks the subject object of a resumable upload, so that its transfers do not count as plain uploads. */
  claim(subject: UploadSubject): void {
    this.#resumable.add(subject);
  }

  /** The plain uploads that are on their way. */
  get plain(): ShownUpload[] {
    return [...this.#plain.values()];
  }

  created(upload: ShownUpload): void {
    this.#announce('upload.created', upload);
  }

  finished(upload: ShownUpload): void {
    this.#announce('upload.finished', upload);
  }

  deleted(upload: ShownUpload): void {
    this.#announce('upload.deleted', upload);
  }

  /** Begins to measure its rate and to announce its progress. */
  moves(upload: ShownUpload): void {
    const pace = new Pace();
    pace.note(performance.now(), upload.received);
    this.#moving.set(upload, pace);
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, TICK_MS).unref();
  }

  rests(upload: ShownUpload): void {
    this.#moving.delete(upload);
    if (this.#moving.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Stops the announcements. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  view(upload: ShownUpload): UploadView {
    const { subject, received, size, expiresAt } = upload;
    return {
      ...subject,
      expires_at: expiresAt === undefined ? null : isoTime(expiresAt),
      protocol: upload.protocol,
      rate: this.#moving.get(upload)?.rate(performance.now(), received) ?? 0,
      received,
      size: size ?? null,
      started_at: isoTime(upload.startedAt),
      state: upload.state,
      upload_id: upload.id,
    };
  }

  #began(upload: Upload): void {
    if (this.#resumable.has(upload.subject)) return;
    const plain = new PlainUpload(upload);
    this.#plain.set(upload, plain);
    this.#introduce(plain);
    this.moves(plain);
  }

  #ended(upload: Upload, outcome: 'landed' | 'dropped'): void {
    const plain = this.#plain.get(upload);
    if (plain === undefined) return;
    this.#plain.delete(upload);
    this.rests(plain);
    this.#introduce(plain);
    if (!plain.isAnnounced) return;
    if (outcome === 'landed') plain.state = 'finished';
    this.#announce(outcome === 'landed' ? 'upload.finished' : 'upload.deleted', plain);
  }

  /** Announces a plain upload once it is known to be large. */
  #introduce(plain: PlainUpload): void {
    if (plain.isAnnounced || (plain.size ?? plain.received) < LEAST_ANNOUNCED) return;
    plain.isAnnounced = true;
    this.created(plain);
  }

  #tick(): void {
    const now = performance.now();
    for (const [upload, pace] of this.#moving) {
      const hasMoved = pace.note(now, upload.received);
      if (upload instanceof PlainUpload) {
        this.#introduce(upload);
        if (!upload.isAnnounced) continue;
      }
      if (hasMoved) this.#announce('upload.updated', upload);
    }
  }

  #announce(action: string, upload: ShownUpload): void {
    if (this.#announcements.size === 0) return;
    const { subject } = upload;
    const projectId = 'project_id' in subject ? subject.project_id : undefined;
    this.#announcements.emit(action, JSON.stringify(this.view(upload)), projectId);
  }
}

class PlainUpload implements ShownUpload {
  readonly protocol = 'http';
  readonly expiresAt = undefined;
  isAnnounced = false;
  state: UploadState = 'receiving';
  readonly #upload: Upload;

  constructor(upload: Upload) {
    this.#upload = upload;
  }

  get id(): string {
    return this.#upload.id;
  }

  get subject(): UploadSubject {
    return this.#upload.subject;
  }

  get size(): number | undefined {
    return this.#upload.size;
  }

  get received(): number {
    return this.#upload.received;
  }

  get startedAt(): number {
    return this.#upload.startedAt;
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

const SECONDS = 5;

/** The rate of an upload over the last few seconds. */
class Pace {
  readonly #samples: { readonly at: number; readonly bytes: number }[] = [];

  /** Called once a second; returns whether bytes have come since the last call. */
  note(at: number, bytes: number): boolean {
    const last = this.#samples.at(-1);
    this.#samples.push({ at, bytes });
    if (this.#samples.length > SECONDS) this.#samples.shift();
    return bytes !== last?.bytes;
  }

  /** In bytes per second. */
  rate(at: number, bytes: number): number {
    const [first] = this.#samples;
    if (first === undefined || at <= first.at) return 0;
    // A resumable upload goes back when its last bytes were wrong.
    return Math.max(0, Math.round(((bytes - first.bytes) * 1000) / (at - first.at)));
  }
}
